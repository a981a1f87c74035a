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
_HEADERS: Final = tuple(f"OTEL_EXPORTER_OTLP_{part}HEADERS" for part in ("", "TRACES_", "METRICS_"))
_PROTOCOL: Final = "http/protobuf"


def is_disabled() -> bool:
    """Whether OTEL_SDK_DISABLED says so."""
    return os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"


def check() -> None:
    """Raises `OptionError` for what a variable wants that there is not."""
    for signal in ("TRACES", "METRICS"):
        _is_wanted(signal)


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
    """None for what OpenTelemetry makes by the variables; where they name none, few fetches are traced. Raises
    `ValueError` for a share that is none.
    """
    if os.environ.get("OTEL_TRACES_SAMPLER", "").strip():
        return None
    return ParentBased(TraceIdRatioBased(float(os.environ.get("OTEL_TRACES_SAMPLER_ARG", "").strip() or RATIO)))


def _is_wanted(signal: str) -> bool:
    exporter = f"OTEL_{signal}_EXPORTER"
    if (name := os.environ.get(exporter, "").strip() or "otlp") not in {"otlp", "none"}:
        raise OptionError(f"{exporter} is {name!r}, and sitecrawl has otlp and none")
    for variable in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if name == "otlp" and (protocol := os.environ.get(variable, "").strip()):
            if protocol != _PROTOCOL:
                raise OptionError(
                    f"{variable} is {protocol!r}, and sitecrawl speaks {_PROTOCOL}, mostly at port 4318"
                )
            break
    return name == "otlp"
