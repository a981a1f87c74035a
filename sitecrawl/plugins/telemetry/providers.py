"""OpenTelemetry's providers, as its environment variables have them (specification, "SDK environment variables").

Only OTLP over HTTP is there, which every collector takes. Nothing is made global: a process may have other users of
OpenTelemetry, whose providers are theirs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, Sampler, TraceIdRatioBased

from sitecrawl.base.errors import OptionError

RATIO: Final = 0.01
"""Of fetches that are traced where the environment says nothing: of a crawl, all would be too many."""
_SAMPLER: Final = "OTEL_TRACES_SAMPLER"
_RATIO: Final = f"{_SAMPLER}_ARG"
_WITH_RATIO: Final = frozenset({"traceidratio", "parentbased_traceidratio"})
_SAMPLERS: Final = _WITH_RATIO | {"always_on", "always_off", "parentbased_always_on", "parentbased_always_off"}
_HEADERS: Final = tuple(f"OTEL_EXPORTER_OTLP_{part}HEADERS" for part in ("", "TRACES_", "METRICS_"))
_PROTOCOL: Final = "http/protobuf"


def is_disabled() -> bool:
    """Whether OTEL_SDK_DISABLED says so."""
    return os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def check() -> None:
    """Raises `OptionError` for what a variable wants that there is not."""
    for signal in ("TRACES", "METRICS"):
        _is_wanted(signal)
    _sampler()


def without_secrets(text: str) -> str:
    """What OpenTelemetry says, without what it was given for headers: it quotes what it does not understand."""
    for name in _HEADERS:
        for header in os.environ.get(name, "").split(","):
            for part in (header.strip(), header.partition("=")[2].strip()):
                text = text.replace(part, "(masked)") if part else text
    return text


def resource(attributes: Mapping[str, str]) -> Resource:
    """What is said of all that is sent. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES go before `attributes`."""
    return Resource.create(dict(attributes)).merge(OTELResourceDetector().detect())


def tracer_provider(about: Resource) -> TracerProvider | None:
    """None where OTEL_TRACES_EXPORTER wants no traces. Raises `OptionError`."""
    if not _is_wanted("TRACES"):
        return None
    provider = TracerProvider(sampler=_sampler(), resource=about, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def meter_provider(about: Resource) -> MeterProvider | None:
    """None where OTEL_METRICS_EXPORTER wants no metrics. Raises `OptionError`."""
    if not _is_wanted("METRICS"):
        return None
    reader = PeriodicExportingMetricReader(OTLPMetricExporter())
    return MeterProvider([reader], resource=about, shutdown_on_exit=False)


def _sampler() -> Sampler | None:
    """None for one that OpenTelemetry makes by its name. What it does not understand it takes for all fetches."""
    name = os.environ.get(_SAMPLER, "").strip().lower() or "parentbased_traceidratio"
    if name not in _SAMPLERS:
        raise OptionError(f"{_SAMPLER} is {name!r}, and has to be one of {', '.join(sorted(_SAMPLERS))}")
    if name not in _WITH_RATIO:
        return None
    ratio = TraceIdRatioBased(_ratio())
    return ParentBased(ratio) if name.startswith("parentbased") else ratio


def _ratio() -> float:
    given = os.environ.get(_RATIO, "").strip()
    try:
        ratio = float(given) if given else RATIO
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:  # nor is NaN
        raise OptionError(f"{_RATIO} is {given!r}, and has to be a share from 0 to 1")
    return ratio


def _is_wanted(signal: str) -> bool:
    name = f"OTEL_{signal}_EXPORTER"
    exporter = os.environ.get(name, "").strip() or "otlp"
    if exporter == "none":
        return False
    if exporter != "otlp":
        raise OptionError(f"{name} is {exporter!r}, and sitecrawl has otlp and none")
    for variable in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if protocol := os.environ.get(variable, "").strip():
            if protocol != _PROTOCOL:
                raise OptionError(
                    f"{variable} is {protocol!r}, and sitecrawl speaks {_PROTOCOL}, mostly at port 4318"
                )
            break
    return True
