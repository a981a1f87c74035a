"""Which fetches are traced, by what the environment says."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.resources import Resource

from sitecrawl.plugins.telemetry.providers import check, tracer_provider


@pytest.mark.parametrize(
    ("name", "ratio", "found"),
    [
        ("", "", "ParentBased{root:TraceIdRatioBased{0.01}"),
        ("", "0.5", "ParentBased{root:TraceIdRatioBased{0.5}"),
        ("", "0", "ParentBased{root:TraceIdRatioBased{0.0}"),
        ("traceidratio", "1", "TraceIdRatioBased{1.0}"),
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
