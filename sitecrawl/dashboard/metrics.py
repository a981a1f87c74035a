"""The figures in Prometheus' text format (version 0.0.4), by its conventions: base units, `_total` for counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from sitecrawl.dashboard.figures import Figures
from sitecrawl.dashboard.meter import BUCKETS, Meter

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[Mapping[str, str], float]


def exposition(figures: Figures, meter: Meter, *, paused: bool, spider: str) -> str:
    """All metrics of one crawl, labelled with its spider."""
    lines: list[str] = []
    for name, kind, about, samples in _metrics(figures, paused=paused):
        lines += _family(name, kind, about, samples, spider)
    lines += _histogram(meter, spider)
    return "\n".join(lines) + "\n"


def _metrics(f: Figures, *, paused: bool) -> Iterator[tuple[str, str, str, Iterable[Sample]]]:
    yield (
        "urls",
        "gauge",
        "URLs of the crawl by state, over all of its runs.",
        [
            ({"state": "fetched"}, f.fetched),
            ({"state": "failed"}, f.failed),
            ({"state": "excluded"}, f.excluded),
            ({"state": "waiting"}, f.waiting),
            ({"state": "in_flight"}, f.in_flight),
        ],
    )
    yield (
        "responses_total",
        "counter",
        "Responses by status.",
        [({"status": str(status)}, n) for status, n in f.statuses.items()],
    )
    yield (
        "failed_downloads_total",
        "counter",
        "Downloads that brought nothing, by what went wrong.",
        [({"reason": reason}, n) for reason, n in f.failures.items()],
    )
    yield "received_bytes_total", "counter", "Bytes of responses, as transferred.", [({}, f.received)]
    yield "duplicate_links_total", "counter", "Links to URLs that were known.", [({}, f.duplicates)]
    yield "good_fetches_total", "counter", "Fetches that gave something worth having.", [({}, f.good)]
    yield (
        "hosts",
        "gauge",
        "Hosts by state: in memory, and being asked.",
        [
            ({"state": "live"}, f.hosts),
            ({"state": "active"}, f.active),
        ],
    )
    yield "demoted_units", "gauge", "Sections and hosts that are held back.", [({}, f.demoted)]
    yield "silent_urls", "gauge", "URLs that wait for hosts that ceased to answer.", [({}, f.silent)]
    yield "lambda_credit_ratio", "gauge", "The lambda page's share of all credit.", [({}, f.reserve)]
    yield (
        "seen_lookups_total",
        "counter",
        "Answers of the URL-seen test, by the tier that knew.",
        [
            ({"tier": "cache"}, f.seen["cache_hits"]),
            ({"tier": "bloom"}, f.seen["bloom_negatives"]),
            ({"tier": "exact"}, f.seen["lookups"]),
        ],
    )
    yield (
        "seen_false_positives_total",
        "counter",
        "Keys that the Bloom filter wrongly took for seen.",
        [({}, f.seen["bloom_false_positives"])],
    )
    yield "seen_bloom_bytes", "gauge", "Memory of the Bloom filter.", [({}, f.seen["bloom_bytes"])]
    yield (
        "sitemap_events_total",
        "counter",
        "What sitemaps brought.",
        [({"event": name.replace("/", "_")}, n) for name, n in sorted(f.sitemaps.items())],
    )
    yield "checkpoints_total", "counter", "Checkpoints of this run.", [({}, f.checkpoints)]
    yield "checkpoint_age_seconds", "gauge", "Since the last checkpoint.", [({}, f.checkpoint_age)]
    yield "database_bytes", "gauge", "Size of the crawl's database on disk.", [({}, f.database)]
    yield "resident_memory_bytes", "gauge", "Memory of the process.", [({}, f.memory)]
    yield "run_seconds_total", "counter", "How long this run has lasted.", [({}, f.seconds)]
    yield "paused", "gauge", "1 while the crawl is paused.", [({}, int(paused))]


def _family(name: str, kind: str, about: str, samples: Iterable[Sample], spider: str) -> Iterator[str]:
    yield f"# HELP sitecrawl_{name} {about}"
    yield f"# TYPE sitecrawl_{name} {kind}"
    for labels, value in samples:
        yield f"sitecrawl_{name}{_labels({'spider': spider, **labels})} {_number(value)}"


def _histogram(meter: Meter, spider: str) -> Iterator[str]:
    yield "# HELP sitecrawl_download_seconds How long downloads took."
    yield "# TYPE sitecrawl_download_seconds histogram"
    below = 0
    for bound, count in zip((*BUCKETS, None), meter.histogram, strict=True):
        below += count
        labels = {"spider": spider, "le": "+Inf" if bound is None else _number(bound)}
        yield f"sitecrawl_download_seconds_bucket{_labels(labels)} {below}"
    yield f"sitecrawl_download_seconds_sum{_labels({'spider': spider})} {_number(meter.seconds)}"
    yield f"sitecrawl_download_seconds_count{_labels({'spider': spider})} {below}"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return repr(value) if isinstance(value, int) else f"{value:.10g}"
