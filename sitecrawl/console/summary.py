"""The summary at a crawl's end: why it ended, its figures, and what to type next; of many workers one for all."""

from __future__ import annotations

import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Self

from sitecrawl.base.display import duration, printable, size
from sitecrawl.base.limits import PRIVATE_ADDRESS
from sitecrawl.base.secret_settings import masked
from sitecrawl.crawl.checkpoints import FRONTIER_ERROR
from sitecrawl.crawl.ending import BY_ITSELF, ending, finish_reason
from sitecrawl.crawl.refusals import NAMES, told
from sitecrawl.crawl.traffic import Traffic
from sitecrawl.crawldir.outcomes import CauseCount, HostRefusals
from sitecrawl.frontier.contract import Figures
from sitecrawl.pagestore.record import NOT_MODIFIED

_Row = tuple[str, int | None, str]
"""Label, number and note."""
_SAID: Final = 3
"""Causes named in one sentence."""
_WORST: Final = 5
"""Hosts and kinds of error that are named."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Facts about a run, and the `lines` that tell them."""

    ending: str
    seconds: float
    traffic: Traffic
    reason: str = ""
    """Scrapy's finish reason."""
    hosts: Counter[str] = field(default_factory=Counter)
    """Errors by host."""
    totals: Figures | None = None
    """Figures over all runs of the crawl; None without our scheduler."""
    resumed: bool = False
    """Whether there were runs before this one."""
    directory: Path | None = None
    has_pages: bool = False
    """Whether there is a page store to read."""
    has_commands: bool = True
    """Whether our commands are installed."""
    resume: str | None = None
    """Command that goes on with the crawl; None if nothing is left to do."""
    again: str | None = None
    """Command that looks for what is new, if this run found nothing to do; else None."""
    facts: Sequence[str] = ()
    """Facts about nearly all pages of a host."""
    causes: Sequence[CauseCount] = ()
    """Why hosts of seeds gave no page, the most frequent first."""
    certificates: Sequence[CauseCount] = ()
    """Faults of the certificates of hosts that were crawled nevertheless."""
    has_pages_fetched: bool = True
    """Whether any page was fetched, in this run or before."""
    resting: int = 0
    """Hosts with waiting URLs that have asked for a rest (Retry-After) which is not over."""
    rests: str = ""
    """The first of them that may be asked, and when."""
    refusals: Sequence[HostRefusals] = ()
    """Refusals of this run by host, the most frequent first."""
    remote: str = ""
    """Place of the remote store; empty without one."""
    report: Sequence[tuple[str, str]] = ()
    """Lines of the spider and of plug-ins, each with a label of up to 9 characters."""

    def lines(self) -> Iterator[str]:
        yield self.first_line()
        if not self.has_pages_fetched and self.causes:
            yield f"It {printable(self.ending, 1000)}."
        yield ""
        for label, number, note in self._rows():
            yield f"  {label:<18}{'' if number is None else f'{number:,}':>10}  {printable(note, 1000)}".rstrip()
        yield ""
        yield from self._where()

    def first_line(self) -> str:
        """How the crawl ended; for one without a page, why there is none."""
        if self.has_pages_fetched:
            more = f" What is new since then: {printable(self.again, 100_000)}" if self.again is not None else ""
            return f"The crawl {printable(self.ending, 1000)}.{more}"
        if not self.causes:
            return f"The crawl fetched no page, and {printable(self.ending, 1000)}."
        return f"The crawl fetched no page: {printable(_in_short(self.causes), 1000)}."

    def _rows(self) -> Iterator[_Row]:
        traffic = self.traffic
        rate = traffic.responses / self.seconds if self.seconds else 0.0
        speed = f"{size(traffic.received)} in {duration(self.seconds)}, {rate:,.1f} a second"
        yield "responses", traffic.responses, speed
        yield from self._classes()
        if traffic.requisites:
            errors = sum(n for status, n in traffic.requisites.items() if status >= 400)
            yield "requisites", traffic.requisites.total(), f"what pages are made of, with {errors:,} errors"
        yield from self._of_browser()
        yield "failed downloads", traffic.failures.total(), _most(traffic.failures)
        yield from _if_any(("spider errors", traffic.spider_errors, "the log has them"))
        yield from self._of_hosts()
        yield "duplicates", traffic.duplicates, "links to URLs that were known"
        yield "robots.txt", traffic.forbidden, "URLs that it excludes"
        yield from _if_any(
            ("guesses", traffic.guesses, "addresses that sitemaps usually have, where none is"),
            ("sitemaps left out", traffic.sitemaps_left, "too many of their sites list no new page"),
            ("copies", traffic.links_skipped, "pages whose links were not followed: others have their content"),
            ("lost", traffic.lost, "pages that count for nothing: other workers had their sites by then"),
            ("private", traffic.private, f"addresses that no seed names, see {PRIVATE_ADDRESS.name}"),
            ("quarantined", traffic.quarantined, "pages that broke their reader: stored, and not followed"),
        )
        yield from self._said_no()
        yield from self._totals()
        for number, fact in enumerate(self.facts[:_WORST]):
            yield "" if number else "of the sites", None, fact
        if len(self.facts) > _WORST:
            yield "", None, f"and {len(self.facts) - _WORST:,} more"

    def _of_browser(self) -> Iterator[_Row]:
        traffic = self.traffic
        if traffic.rendered or traffic.not_rendered:
            yield "rendered", traffic.rendered, f"pages, of which {traffic.gained:,} gained links or text by that"
        if traffic.not_rendered:
            about = "pages that could not be rendered, and were taken as they came: links may be missing"
            yield "  unrendered", traffic.not_rendered, f"{about} (resume to try crashed ones again)"

    def _of_hosts(self) -> Iterator[_Row]:
        if self.hosts:
            yield "most errors", None, _most(self.hosts)
        for number, cause in enumerate(self.causes if self.totals is not None else ()):
            yield "" if number else "no page from", cause.hosts, f"{cause.why}, such as {cause.example}"
        for number, cause in enumerate(self.certificates):
            yield "" if number else "certificates", cause.hosts, f"{cause.why}, such as that of {cause.example}"

    def _classes(self) -> Iterator[_Row]:
        for digit, meaning in ((1, ""), (2, " pages"), (3, " redirects"), (4, " errors"), (5, " errors")):
            some = Counter({str(status): n for status, n in self.traffic.statuses.items() if status // 100 == digit})
            if unchanged := some.pop(str(NOT_MODIFIED), 0):
                yield f"  {NOT_MODIFIED} unchanged", unchanged, "pages that have not changed, as their servers say"
            if some:
                yield f"  {digit}xx{meaning}", some.total(), _most(some) if digit > 3 else ""

    def _said_no(self) -> Iterator[_Row]:
        for kind, name in NAMES.items():
            if number := self.traffic.refusals[kind]:
                named = Counter(
                    {f"{row.host} {row.by}".strip(): row.times for row in self.refusals if row.kind == kind}
                )
                yield name, number, _most(named)

    def _totals(self) -> Iterator[_Row]:
        if self.totals is None:
            return
        yield "given up", self.totals.failed, "URLs for which no answer came"
        yield "waiting", self.totals.queued, "URLs that are known and not fetched"
        yield from _if_any(
            ("  resting", self.resting, f"hosts: {self.rests}"),
            ("  held back", self.totals.held_back, "of these, in what looks like traps, or was blocked"),
            ("  other forms", self.totals.joined, "of these, other addresses of fetched pages, by learnt rules"),
            ("  silent", self.totals.silent, "of these, on hosts that ceased to answer: resume to ask them again"),
        )
        if self.resumed:
            yield "fetched in all", self.totals.fetched, "URLs, this run and those before it; guesses count, too"

    def _where(self) -> Iterator[str]:
        kinds = {row.kind: row for row in reversed(self.refusals)}  # of each the host that said it most
        for row in kinds.values():
            yield f"  said no   {told(row)}"
        for label, text in self.report:
            yield f"  {printable(label, 9):<9} {printable(text, 1000)}"
        if self.directory is not None:
            place = printable(shlex.quote(str(self.directory)), 1000)
            yield f"  data      {place}"
            if self.remote:
                yield f"  remote    {printable(self.remote, 1000)}"
            if self.has_commands:
                yield from self._how_to_read(place)
        if self.resume is not None:
            yield f"  resume    {printable(self.resume, 100_000)}"

    def _how_to_read(self, place: str) -> Iterator[str]:
        if self.has_pages:
            yield f"  read      scrapy pages -d {place}"
            yield f"            scrapy page URL -d {place}"
            if self.traffic.quarantined:
                yield f"            scrapy pages --kind quarantined -d {place}"
        if self.totals is not None and self.totals.held_back:
            yield f"  traps     scrapy frontier --demoted -d {place}"
            all_of_it = f"{self.resume or 'resume with'} -s SITECRAWL_HOLD_TRAPS=False"
            yield f"            {printable(all_of_it, 100_000)} fetches them as well"
        if self.totals is not None and self.totals.joined:
            yield f"  rules     scrapy frontier --rules -d {place}"


def _in_short(found: Sequence[CauseCount]) -> str:
    """The most frequent causes for a crawl without a page, in words."""
    parts = [_shortly(cause) for cause in found[:_SAID]]
    more = len(found) - _SAID
    return "; ".join([*parts, f"and {more:,} more {'cause' if more == 1 else 'causes'}"] if more > 0 else parts)


def _shortly(cause: CauseCount) -> str:
    more = f" and {cause.hosts - 1:,} more" if cause.hosts > 1 else ""
    return f"{cause.why} ({cause.example}{more})" if cause.example else cause.why


def _if_any(*rows: tuple[str, int, str]) -> Iterator[_Row]:
    """The rows whose number is not 0."""
    return (row for row in rows if row[1])


def _most(counter: Counter[str]) -> str:
    """The most frequent names, with their numbers."""
    named = ", ".join(f"{printable(name)} ({n:,})" for name, n in counter.most_common(_WORST))
    return f"{named}, ..." if len(counter) > _WORST else named


def resume_command(argv: Sequence[str], directory: Path) -> str | None:
    """The command line once more, with `directory` as JOBDIR where it names no job; None if it was no `scrapy crawl`.

    Secrets are left out, and passwords in URLs: what is printed is kept in logs.
    `argv` is that of Python's own process (`sys.orig_argv`): Scrapy takes words out of `sys.argv`.
    """
    place = next((n for n, word in enumerate(argv) if Path(word).name == "scrapy"), 0)
    words = argv[place + 1 :]
    if not place or not {"crawl", "update"} & {*words}:
        return None
    program = argv[: place + 1] if argv[place - 1] == "-m" else [_shortest(argv[place])]
    given = any(re.match(r"(-s|--set=?)?JOBDIR=|(-a)?job=|update$", word) for word in words)
    shown = [masked(word) for word in words]
    return shlex.join([*program, *shown, *(() if given else ("-s", f"JOBDIR={directory}"))])


def _shortest(path: str) -> str:
    found = shutil.which("scrapy")
    return "scrapy" if found is not None and Path(found).resolve() == Path(path).resolve() else path


_FIRST_OF_ALL: Final = ("storage_error", FRONTIER_ERROR)
"""Finish reasons that count before all others."""
_OF_SUMMARY: Final = ("facts", "causes", "certificates", "refusals", "resting", "rests", "remote", "report")
"""Fields of `Summary` that a share has, too."""


@dataclass(frozen=True, slots=True)
class Share:
    """One worker's part of a run, which goes to the parent process as JSON (`cluster.line`)."""

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
    odd = sorted(
        (one.reason for one in shares if one.reason not in BY_ITSELF), key=lambda one: one not in _FIRST_OF_ALL
    )
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
