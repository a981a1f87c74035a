"""The figures in Prometheus' text format (version 0.0.4).

Their names keep its conventions, also where others take them: base units as suffixes, `_total` for counters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from sitecrawl.plugins.dashboard.figures import BUCKETS, GONE, Meter, Worker

if TYPE_CHECKING:
    from sitecrawl.plugins.dashboard.figures import Figures

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_OF_WORKERS: Final = (
    ("fetched", "fetched_total", "counter", "URLs that a worker has fetched since its start."),
    ("received", "received_bytes_total", "counter", "Bytes of responses of a worker, as transferred."),
    ("errors", "errors_total", "counter", "Responses and downloads of a worker that were errors."),
    ("in_flight", "in_flight_urls", "gauge", "URLs that a worker is fetching."),
    ("waiting", "waiting_urls", "gauge", "URLs that wait with a worker."),
    ("partitions", "partitions", "gauge", "Partitions of the crawl that a worker has."),
    ("memory", "resident_memory_bytes", "gauge", "Memory of a worker's process."),
)
"""Figure, name, type and meaning of what there is of each worker of a cluster."""

_TIERS: Final = {
    "cache": "cache_hits",
    "recent": "recent_hits",
    "bloom": "bloom_negatives",
    "buffer": "buffer_hits",
    "disk": "disk_lookups",
}
"""Label and figure of the tiers of the URL-seen test: each test is in one of them."""

_Values = float | tuple[str, Mapping[Any, float]]
"""One number, or several with the label that tells them apart."""


_Metric = tuple[str, str, _Values]
"""Name without the prefix `sitecrawl_`, meaning, and value."""


def exposition(
    figures: Figures,
    meter: Meter,
    *,
    paused: bool,
    wants: Mapping[str, float],
    spider: str,
    workers: Sequence[Worker] = (),
) -> str:
    """All metrics of one crawl, labelled with its spider.

    `paused`: by hand. `wants`: seconds for which it has paused by itself, by what it lacks. `workers`: those of a
    cluster.
    """
    lines: list[str] = []
    own = (_of_field(one.metadata, getattr(figures, one.name)) for one in fields(figures) if one.metadata)
    for name, about, values in (*own, *_of_several(figures), *_of_pauses(wants, paused=paused)):
        kind = "counter" if name.endswith("_total") else "gauge"
        lines += _head(name, kind, about)
        if isinstance(values, tuple):
            label, numbers = values
            lines += (_sample(name, number, spider, **{label: str(of)}) for of, number in numbers.items())
        else:
            lines.append(_sample(name, values, spider))
    lines += _histogram(meter, spider)
    if workers:
        lines += _each(workers, spider)
    return "\n".join(lines) + "\n"


def _of_field(told: Mapping[str, str], value: Any) -> _Metric:
    return told["metric"], told["about"], (told["label"], value) if told["label"] else value


def _of_several(f: Figures) -> tuple[_Metric, ...]:
    """Metrics that are made of several figures, or of a part of one."""
    states = ("fetched", "requisites", "failed", "excluded", "waiting", "in_flight")
    seen = {tier: f.seen.get(name, 0) for tier, name in _TIERS.items()}
    same = {name: f.content.get(name, 0) for name in ("equal", "near", "links_skipped")}
    r, tabs = f.remote, {state: f.browser.get(state, 0) for state in ("shown", "waiting")}
    return (
        ("urls", "URLs of the crawl by state, over all of its runs.", ("state", {s: getattr(f, s) for s in states})),
        ("hosts", "Hosts by state: in memory, and being asked.", ("state", {"live": f.hosts, "active": f.active})),
        ("seen_lookups_total", "Answers of the URL-seen test, by the tier that knew.", ("tier", seen)),
        ("compared_pages_total", "Pages of which others may have the content.", f.content.get("pages", 0)),
        ("duplicate_pages_total", "Of these, by what the content-seen test found.", ("found", same)),
        ("remote_files", "WARC files that the store elsewhere has.", r.get("files", 0)),
        ("remote_waiting_files", "Files that the store elsewhere has not confirmed.", r.get("waiting", 0)),
        ("remote_sent_bytes_total", "Bytes sent to the store elsewhere.", r.get("bytes", 0)),
        ("remote_failures_total", "Attempts to send a file that came to nothing.", r.get("failures", 0)),
        ("browser_pages", "Pages in the browser, and pages that wait for it.", ("state", tabs)),
        ("browser_memory_bytes", "Memory of the browser's processes.", f.browser.get("memory", 0)),
    )


def _of_pauses(wants: Mapping[str, float], *, paused: bool) -> Iterator[_Metric]:
    yield "paused", "1 while the crawl is paused by hand.", int(paused)
    yield "want_seconds", "How long the crawl has paused for want of something.", ("want", wants)


def _each(workers: Sequence[Worker], spider: str) -> Iterator[str]:
    named = [(one, {"worker": one["place"], "session": one["id"]}) for one in workers]
    yield from _head(
        "worker_up", "gauge", "1 while a worker of the cluster is heard, 0 when it is lost or has ended."
    )
    for one, labels in named:
        yield _sample("worker_up", int(one["state"] not in GONE), spider, **labels)
    for figure, name, kind, about in _OF_WORKERS:
        yield from _head(f"worker_{name}", kind, about)
        for one, labels in named:
            yield _sample(f"worker_{name}", one["figures"][figure], spider, **labels)


def _histogram(meter: Meter, spider: str) -> Iterator[str]:
    name, below = "download_seconds", 0
    yield from _head(name, "histogram", "How long downloads took.")
    for bound, count in zip((*map(_number, BUCKETS), "+Inf"), meter.histogram, strict=True):
        below += count
        yield _sample(f"{name}_bucket", below, spider, le=bound)
    yield _sample(f"{name}_sum", meter.seconds, spider)
    yield _sample(f"{name}_count", below, spider)


def _head(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP sitecrawl_{name} {about}", f"# TYPE sitecrawl_{name} {kind}"


def _sample(name: str, value: float, spider: str, **labels: str) -> str:
    named = ",".join(f'{label}="{_escaped(text)}"' for label, text in {"spider": spider, **labels}.items())
    return f"sitecrawl_{name}{{{named}}} {_number(value)}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return repr(value) if isinstance(value, int) else f"{value:.10g}"
