"""Which fetches are traced, by what the environment says."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.resources import Resource

from sitecrawl.base.errors import OptionError
from sitecrawl.plugins.telemetry.providers import check, tracer_provider


@pytest.mark.parametrize(
    ("name", "ratio", "found"),
    [
        ("", "", "ParentBased{root:TraceIdRatioBased{0.01}"),
        ("", "0.5", "ParentBased{root:TraceIdRatioBased{0.5}"),
        ("", "0", "ParentBased{root:TraceIdRatioBased{0.0}"),
        ("traceidratio", "1", "TraceIdRatioBased{1.0}"),
        ("traceidratio", "", "TraceIdRatioBased{0.01}"),
        ("always_off", "", "AlwaysOffSampler"),
        ("always_on", "nonsense", "AlwaysOnSampler"),
    ],
)
def test_a_share(name: str, ratio: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of it counts without a sampler's name, and without it few are traced and not all."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", name)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", ratio)
    check()
    provider = tracer_provider(Resource.get_empty())
    assert provider is not None
    provider.shutdown()
    assert provider.sampler.get_description().startswith(found)


@pytest.mark.parametrize("ratio", ["NaN", "-0.1", "1.5", "inf", "all"])
def test_no_share(ratio: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused: OpenTelemetry would trace all."""
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", ratio)
    with pytest.raises(OptionError, match=r"OTEL_TRACES_SAMPLER_ARG is .* from 0 to 1"):
        check()
