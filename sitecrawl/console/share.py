"""The figures of each of many workers at its end, which go to the parent process as JSON (`cluster.line`), and the
one summary of them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from sitecrawl.console.summary import Summary
from sitecrawl.crawl.ending import BY_ITSELF, ending, finish_reason
from sitecrawl.crawl.traffic import Traffic
from sitecrawl.crawldir.outcomes import CauseCount, HostRefusals
from sitecrawl.frontier.contract import Figures

_WORST: Final = ("storage_error",)
"""Finish reasons that count before all others."""
_OF_SUMMARY: Final = ("facts", "causes", "certificates", "refusals", "resting", "rests", "remote", "report")
"""Fields of `Summary` that a share has, too."""


@dataclass(frozen=True, slots=True)
class Share:
    """One worker's part of a run."""

    reason: str
    """Scrapy's finish reason."""
    seconds: float
    stats: Mapping[str, Any]
    """Scrapy's statistics, as far as JSON has them."""
    pages: int = 0
    """Fetched in all runs of the worker."""
    others: int = 0
    """URLs whose answer was no page."""
    max_pages: int = 0
    max_depth: int = 0
    exit_codes: bool = True
    """`SITECRAWL_EXIT_CODES`."""
    hosts: Mapping[str, int] = field(default_factory=dict)
    facts: Sequence[str] = ()
    causes: Sequence[Sequence[Any]] = ()
    certificates: Sequence[Sequence[Any]] = ()
    refusals: Sequence[Sequence[Any]] = ()
    resting: int = 0
    rests: str = ""
    remote: str = ""
    report: Sequence[Sequence[str]] = ()

    @classmethod
    def of(cls, told: Summary, stats: Mapping[str, Any], **besides: Any) -> Self:
        """The share of a worker whose own summary is `told`."""
        return cls(
            seconds=told.seconds,
            stats={name: value for name, value in stats.items() if isinstance(value, int | float)},
            hosts=dict(told.hosts),  # of which `asdict` would make something else
            **{name: getattr(told, name) for name in _OF_SUMMARY},
            **besides,
        )


def _reason_of(shares: Sequence[Share]) -> str:
    """Why all workers ended: the first reason that is none of `BY_ITSELF`, or else that of the first worker."""
    odd = sorted((one.reason for one in shares if one.reason not in BY_ITSELF), key=lambda one: one not in _WORST)
    return odd[0] if odd else shares[0].reason


def _traffic_of(shares: Iterable[Share]) -> Traffic:
    total: Counter[str] = Counter()
    for one in shares:
        total.update({name: value for name, value in one.stats.items() if not isinstance(value, bool)})
    flags = {name: True for one in shares for name, value in one.stats.items() if value is True}
    return Traffic.read({**total, **flags})


def summary_of(by_worker: Mapping[str, Share], left: Figures) -> Summary:
    """Summary of one run of all workers. `left`: figures of the whole crawl."""
    shares = [*by_worker.values()]
    reason, one = _reason_of(shares), shares[0]
    left = replace(left, is_full=0 < one.max_pages <= left.fetched)
    if reason in BY_ITSELF:
        reason = finish_reason(left)
    pages, others = sum(share.pages for share in shares), sum(share.others for share in shares)
    return Summary(
        ending=ending(reason, left, one.max_depth),
        reason=reason,
        seconds=max(share.seconds for share in shares),
        traffic=_traffic_of(shares),
        hosts=sum((Counter(share.hosts) for share in shares), Counter()),
        facts=[*dict.fromkeys(fact for share in shares for fact in share.facts)],
        causes=_causes(share.causes for share in shares),
        certificates=_causes(share.certificates for share in shares),
        refusals=_refusals(shares),
        has_pages_fetched=bool(pages) or left.fetched > others,
        resting=sum(share.resting for share in shares),
        rests=next((share.rests for share in shares if share.rests), ""),
        remote="; ".join(dict.fromkeys(share.remote for share in shares if share.remote)),
        report=[*_report(by_worker)],
    )


def _report(by_worker: Mapping[str, Share]) -> Iterator[tuple[str, str]]:
    """Lines of spiders and plug-ins, which cannot be added up: once if all say the same, else with the worker."""
    first, *others = by_worker.values()
    is_same = all(one.report == first.report for one in others)
    for worker, share in [("", first)] if is_same else by_worker.items():
        for label, text in share.report:
            yield label, f"{worker}: {text}" if worker else text


def _causes(found: Iterable[Sequence[Sequence[Any]]]) -> list[CauseCount]:
    hosts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for why, number, example in (cause for causes in found for cause in causes):
        hosts[why] += number
        examples.setdefault(why, example)
    return [CauseCount(why, number, examples[why]) for why, number in hosts.most_common()]


def _refusals(shares: Iterable[Share]) -> list[HostRefusals]:
    """Refusals by host and kind. A host may have moved from one worker to another."""
    found: dict[tuple[str, str], HostRefusals] = {}
    for row in (HostRefusals(*row) for share in shares for row in share.refusals):
        before = found.get((row.host, row.kind))
        found[row.host, row.kind] = row if before is None else row._replace(times=before.times + row.times)
    return sorted(found.values(), key=lambda row: (-row.times, row.host, row.kind))
