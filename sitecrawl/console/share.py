"""What each of many workers has to say at its end, and the one summary that it comes to.

It goes from process to process as JSON (`cluster.line`).
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
"""Finish reasons that count before others that are no end by itself."""


@dataclass(frozen=True, slots=True)
class Share:
    """One worker's part of a run."""

    reason: str
    """Scrapy's finish reason."""
    seconds: float
    stats: Mapping[str, Any]
    """Scrapy's statistics, as far as JSON has them."""
    pages: int = 0
    """Of all runs of the worker; `others` are URLs with an answer that was no page."""
    others: int = 0
    resumed: bool = False
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
    """The last eight are those of `Summary`."""

    @classmethod
    def of(cls, told: Summary, stats: Mapping[str, Any], **besides: Any) -> Self:
        """That of a worker that would say `told` by itself."""
        return cls(
            seconds=told.seconds,
            stats={name: value for name, value in stats.items() if isinstance(value, int | float)},
            hosts=dict(told.hosts),  # of which `asdict` would make something else
            facts=[*told.facts],
            causes=[[one.why, one.hosts, one.example] for one in told.causes],
            certificates=[[one.why, one.hosts, one.example] for one in told.certificates],
            refusals=[[*one] for one in told.refusals],
            resting=told.resting,
            rests=told.rests,
            remote=told.remote,
            report=[[*one] for one in told.report],
            **besides,
        )


def reason_of(shares: Sequence[Share]) -> str:
    """Why all of them ended: what one ended for that was no end by itself, or else the first's reason."""
    odd = sorted((one.reason for one in shares if one.reason not in BY_ITSELF), key=lambda one: one not in _WORST)
    return odd[0] if odd else shares[0].reason


def _traffic_of(shares: Iterable[Share]) -> Traffic:
    """All that came, in figures."""
    total: Counter[str] = Counter()
    for one in shares:
        total.update({name: value for name, value in one.stats.items() if not isinstance(value, bool)})
    flags = {name: True for one in shares for name, value in one.stats.items() if value is True}
    return Traffic.read({**total, **flags})


def summary_of(by_worker: Mapping[str, Share], left: Figures) -> Summary:
    """Of the run of all of them; `left` is of the whole crawl. At least one share."""
    shares = [*by_worker.values()]
    reason, one = reason_of(shares), shares[0]
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
        facts=_distinct(fact for share in shares for fact in share.facts),
        causes=_causes(share.causes for share in shares),
        certificates=_causes(share.certificates for share in shares),
        refusals=_refusals(shares),
        has_pages_fetched=bool(pages) or left.fetched > others,
        resting=sum(share.resting for share in shares),
        rests=next((share.rests for share in shares if share.rests), ""),
        remote="; ".join(_distinct(share.remote for share in shares if share.remote)),
        report=[*_report(by_worker)],
    )


def _distinct(found: Iterable[Any]) -> list[Any]:
    return [*dict.fromkeys(found)]


def _report(by_worker: Mapping[str, Share]) -> Iterator[tuple[str, str]]:
    """What spiders and plug-ins say themselves nobody can add up: each says it of its own pages."""
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
    """A host is one worker's at a time, and may have been several ones'."""
    found: dict[tuple[str, str], HostRefusals] = {}
    for row in (HostRefusals(*row) for share in shares for row in share.refusals):
        before = found.get((row.host, row.kind))
        found[row.host, row.kind] = row if before is None else row._replace(times=before.times + row.times)
    return sorted(found.values(), key=lambda row: (-row.times, row.host, row.kind))
