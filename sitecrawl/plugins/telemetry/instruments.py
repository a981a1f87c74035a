"""The metrics of `/metrics` as OpenTelemetry's instruments: the same list, so that one source has what there is.

OpenTelemetry has units beside names, and no `_total`: a Prometheus that gets them through a collector puts both back,
so that they have the same names there as in `/metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from sitecrawl.crawl.fetch import Fetch
from sitecrawl.plugins.dashboard.meter import BUCKETS
from sitecrawl.plugins.dashboard.metrics import Metric

Source = Callable[[], Sequence[Metric]]
_UNITS: Final = {"_bytes": "By", "_seconds": "s", "_ratio": "1"}
"""Of the suffixes that Prometheus has for units (UCUM's codes)."""


def name_and_unit(name: str) -> tuple[str, str]:
    """What OpenTelemetry calls the metric of that name, and its unit; empty for a mere count."""
    plain = name.removesuffix("_total")
    suffix = next((one for one in _UNITS if plain.endswith(one)), "")
    return f"sitecrawl.{plain.removesuffix(suffix)}", _UNITS.get(suffix, "")


def observe(meter: Meter, source: Source, spider: str) -> None:
    """Have `meter` ask `source` whenever it reads, in a thread of its own."""
    for metric in source():
        name, unit = name_and_unit(metric.name)
        create = meter.create_observable_counter if metric.kind == "counter" else meter.create_observable_gauge
        create(name, [partial(_read, metric.name, source, spider)], unit, metric.about)


def _read(name: str, source: Source, spider: str, _: CallbackOptions) -> Iterator[Observation]:
    values = next((metric.values for metric in source() if metric.name == name), ("", {}))
    label, numbers = values if isinstance(values, tuple) else ("", {"": values})
    for of, number in numbers.items():
        yield Observation(number, {"spider": spider, **({label: str(of)} if label else {})})


def durations(meter: Meter, spider: str) -> Callable[[Fetch], None]:
    """What records how long the download of a fetch took, in the classes that `/metrics` has."""
    name, unit = name_and_unit("download_seconds")
    about = "How long downloads took."
    histogram = meter.create_histogram(name, unit, about, explicit_bucket_boundaries_advisory=[*BUCKETS])

    def finished(fetch: Fetch) -> None:
        if fetch.exchange is not None:
            histogram.record(fetch.exchange.seconds, {"spider": spider})

    return finished
