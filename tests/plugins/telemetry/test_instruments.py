"""The metrics of `/metrics` under the names that OpenTelemetry has for them."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from sitecrawl.plugins.dashboard.figures import Figures
from sitecrawl.plugins.dashboard.metrics import metrics
from sitecrawl.plugins.telemetry.instruments import name_and_unit

NO_NUMBERS: dict[str, Any] = {one.name: 0 for one in fields(Figures) if one.default_factory is MISSING}
NOTHING = Figures(**NO_NUMBERS)
METRICS = metrics(NOTHING, paused=False, wants={})
SUFFIXES = {"By": "_bytes", "s": "_seconds", "1": "_ratio", "": ""}


def test_a_prometheus_calls_it_as_before() -> None:
    """Prometheus puts units and `_total` behind the names of OpenTelemetry, and underlines for dots."""
    for metric in METRICS:
        name, unit = name_and_unit(metric.name)
        end = "_total" if metric.kind == "counter" else ""
        assert name.replace(".", "_") + SUFFIXES[unit] + end == f"sitecrawl_{metric.name}"


def test_no_name_stands_for_two() -> None:
    """What differs by its unit alone would be one instrument."""
    assert len({name_and_unit(metric.name)[0] for metric in METRICS}) == len(METRICS)
