"""Put the answer together, for the command and for agents: one line, one word for a program, the evidence, and what
would make the URL be fetched.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sitecrawl.frontier.judge.held import explain
from sitecrawl.frontier.urls.causes import Cause, words_of
from sitecrawl.frontier.urls.record import UrlRecord, UrlState
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.pagestore.capture import Capture
from sitecrawl.plugins.why.case import Case, moment
from sitecrawl.plugins.why.evidence import ALL
from sitecrawl.plugins.why.source import Source

_SOON: Final = 2.0
"""Seconds of rest that nobody need be told of."""


class _Verdict(NamedTuple):
    """See the module."""

    name: str
    text: str
    advice: str = ""


def _verdict(case: Case) -> _Verdict:
    """What is to be said of a URL first."""
    if case.record is None:
        return next(_unknown(case))
    of: Callable[[Case, UrlRecord], _Verdict] | None = _ENDED.get(case.record.state)
    return of(case, case.record) if of is not None else next(_waiting(case, case.record))


# What has come to an end


def _fetched(case: Case, record: UrlRecord) -> _Verdict:
    when = f"Fetched at {moment(record.fetched)}"
    target = case.last.redirect_to if case.last is not None else None
    if target:
        rule = case.out_of_scope(target)
        far = f", which is out of scope ({rule}) and was not followed" if rule else ""
        return _Verdict("redirects", f"{when}: it redirects to {target}{far}")
    if case.original and 200 <= record.status < 300:
        return _Verdict("repeats", f"{when}, and it has the content of {case.original}")
    if record.status >= 400:
        tries = f" each of {record.attempts + 1:,} times" if record.attempts else ""
        return _Verdict("error", f"{when}: its server answered {record.status}{tries}", _AGAIN)
    return _Verdict("fetched", f"{when}, with status {record.status}")


def _failed(case: Case, record: UrlRecord) -> _Verdict:
    why = words_of(record.cause) or "nothing came"
    given_up = case.host is not None and case.source.is_given_up(case.host, case.key)
    advice = "a crawl that is resumed asks again" if given_up else _AGAIN
    if record.cause in _SAME_AGAIN:
        limit = _SAME_AGAIN[Cause(record.cause)]
        advice = f"{limit}: then {advice}" if limit else ""
    if record.cause == Cause.GIVEN_UP:
        return _Verdict("given up", f"Not asked for: {why}, and it was given up", advice)
    tries = "once" if not record.attempts else f"{record.attempts + 1:,} times"
    return _Verdict("failed", f"Asked for {tries}, at last at {moment(record.fetched)}, in vain: {why}", advice)


def _excluded(case: Case, record: UrlRecord) -> _Verdict:
    if record.cause == Cause.ROBOTS:
        return _by_robots(case, "Not fetched")
    why = words_of(record.cause) or "a rule of the crawl excludes it"
    advice = (
        "name its host as a seed, or set SITECRAWL_ALLOW_PRIVATE" if record.cause == Cause.PRIVATE_ADDRESS else ""
    )
    return _Verdict("excluded", f"Not fetched: {why}", advice)


def _by_robots(case: Case, first: str) -> _Verdict:
    found = case.robots
    rule = found.rule if found is not None and found.forbids else None
    line = f", line {rule.number}: {rule.text}" if rule is not None else ""
    return _Verdict("robots", f"{first}: robots.txt forbids it{line}", "ask the owner of the site for permission")


def _as_requisite(_case: Case, record: UrlRecord) -> _Verdict:
    text = f"Fetched at {moment(record.fetched)} as a part of pages, with status {record.status}"
    return _Verdict("requisite", f"{text}; no page links to it")


_ENDED: Final = {
    UrlState.FETCHED: _fetched,
    UrlState.FAILED: _failed,
    UrlState.EXCLUDED: _excluded,
    UrlState.REQUISITE: _as_requisite,
}
_AGAIN: Final = "begin a crawl with it as a seed, or fetch what this one knows again (scrapy update)"
_SAME_AGAIN: Final = {
    Cause.TOO_LARGE: "set the limit that it goes beyond higher (docs/limits.md)",
    Cause.BOMB: "if it is no bomb, set DOWNLOAD_MAXSIZE higher",
    Cause.UNREAD: "",
    Cause.NO_ADDRESS: "",
}
"""Causes that stay, and what has to be done before it is asked for again; empty where nothing helps."""


# What waits


def _waiting(case: Case, record: UrlRecord) -> Iterator[_Verdict]:
    yield from _held(case)
    yield from _not_answering(case, record)
    if case.is_full:
        terms = case.source.terms
        most = f"{terms.max_pages:,}" if terms is not None else ""
        text = f"It waits: the crawl has fetched {most} pages, as many as max_pages allows"
        yield _Verdict("full", text, "resume the crawl with a greater max_pages")
    yield from _ended(case)
    now = time.time()
    rest = (case.host.rests_until if case.host is not None else 0.0) - now
    if rest > _SOON:
        text = f"It waits: its host rests until {moment(now + rest)}"
        yield _Verdict("resting", text, "nothing more is needed: it comes in its turn after that")
    yield _Verdict("waits", "It waits for its turn", "nothing more is needed: it comes in its turn")


def _held(case: Case) -> Iterator[_Verdict]:
    unit = case.held
    if unit is None:
        return
    what = f"its section {unit.shape}" if isinstance(unit, Section) else f"its host {unit.name}"
    free = "set it free on the dashboard, or resume with a larger SITECRAWL_TRAP_BUDGET or SITECRAWL_HOLD_TRAPS=False"
    if unit.trap.reason == Reason.BLOCKED:
        yield _Verdict("blocked", f"Held back: {what} was blocked by hand", "set it free on the dashboard")
    elif unit.trap.is_full:
        number = f"the {unit.fetched:,} pages that {what} may have are fetched"
        text = f"It waits, and will: {number} (max_pages of its sheet)"
        yield _Verdict("full", text, "give its host a greater max_pages in its sheet")
    elif case.is_joined:
        of = f"of {case.stands}" if case.stands else "of a page"
        rule = f", by {case.rule}" if case.rule is not None else ""
        advice = "refuse the rule with `scrapy frontier --refuse-rule` if it is wrong"
        yield _Verdict(
            "joined", f"It waits as another form {of}{rule}; only a few such are fetched, as tests", advice
        )
    else:
        why = explain(unit, case.source.counts.fetched + case.source.counts.failed)
        yield _Verdict("held back", f"Held back as a trap, with {what}: {why}", free)


def _not_answering(case: Case, record: UrlRecord) -> Iterator[_Verdict]:
    tries = (
        "" if not record.attempts else f" (asked for {record.attempts:,} times, at last at {moment(record.fetched)})"
    )
    if record.cause == Cause.NO_ROBOTS:
        text = f"It waits: the robots.txt of its host cannot be had, and without it nothing is asked for{tries}"
        yield _Verdict(
            "robots silent", text, "it is asked for again, less and less often; look at what its server says"
        )
    elif record.cause and record.attempts:
        text = f"It waits to be asked for again: {words_of(record.cause)}{tries}"
        yield _Verdict("retry", text, "nothing more is needed: it comes in its turn")


def _ended(case: Case) -> Iterator[_Verdict]:
    terms = case.source.terms
    if terms is not None and terms.ended:
        text = f"It waits: the crawl ended at {moment(terms.ended)} ({terms.reason}) before its turn came"
        yield _Verdict("ended", text, "resume the crawl: the same command with the same directory")


# What is not known


def _unknown(case: Case) -> Iterator[_Verdict]:
    terms = case.source.terms
    if terms is not None and (own := terms.frontier):
        text = f"Not known here: the crawl's frontier is {own}, which has its own records"
        yield _Verdict("unknown", text, "ask that frontier; scrapy page URL says whether the page is stored")
        return
    if (got := case.of_a_browser) is not None:
        page = case.source.shown_with(got)
        shown = f" to show {page.url}" if page is not None else ""
        text = f"Fetched at {moment(got.fetched)} by a browser{shown}, with status {got.status}"
        yield _Verdict("requisite", f"{text}; no page links to it")
    if rule := case.out_of_scope():
        advice = "begin a crawl with it as a seed, or with a wider scope, allow or deny"
        yield _Verdict("out of scope", f"Not known, and it would be left out: {rule}", advice)
    if case.robots is not None and case.robots.forbids and (terms is None or terms.robots):
        yield _by_robots(case, "Not known, and it would be left out")
    seed = "begin a crawl with it as a seed, add it on the dashboard, or look for sitemaps (-a sitemaps=1)"
    if case.linker is not None:
        yield _linked(case.linker, case.source.max_depth(case.url.host))
    found = "Not known: no page that was read is known to link to it"
    if case.is_full:
        text = f"{found}, and the crawl has fetched as many pages as max_pages allows"
        yield _Verdict("unknown", text, "resume the crawl with a greater max_pages, or add it as a seed")
    yield _Verdict("unknown", found, seed)


def _linked(page: Capture, max_depth: int) -> _Verdict:
    """A page that was read links to it, and it was left out all the same."""
    if 0 < max_depth <= (page.depth or 0):
        text = f"Not known: {page.url} links to it, and is as far from the seeds as may be (max_depth={max_depth})"
        return _Verdict("too deep", text, "resume the crawl with a greater max_depth, or add it as a seed")
    text = f"Not known, though {page.url} links to it: the spider, or a limit on a page's links, left it out"
    return _Verdict("left out", text, "add it as a seed; see docs/limits.md, and the spider's own rules")


@dataclass(frozen=True, slots=True)
class _Explanation:
    """One clear answer, and the evidence."""

    url: str
    """As it would be fetched, or was."""
    known: bool
    """Whether the crawl knows it."""
    verdict: _Verdict
    evidence: Mapping[str, str]
    """In words, of several lines, by what it is about: `canonical`, `scope`, `robots.txt`, ..."""

    def as_dict(self) -> dict[str, Any]:
        """The explanation for JSON."""
        return {
            "url": self.url,
            "verdict": self.verdict.name,
            "answer": self.verdict.text,
            "known": self.known,
            "evidence": dict(self.evidence),
            "advice": self.verdict.advice,
        }

    def lines(self) -> Iterator[str]:
        """For a terminal: the answer, what speaks for it, and what would help."""
        yield from (self.verdict.text, "")
        rows = {**self.evidence, **({"what helps": self.verdict.advice} if self.verdict.advice else {})}
        width = max(map(len, rows))
        for about, text in rows.items():
            first, *rest = text.split("\n")
            yield f"  {about:<{width}}  {first}"
            yield from (f"  {'':<{width}}  {line}" for line in rest)


def why(source: Source, text: str) -> _Explanation:
    """Why the URL that a person typed was fetched, waits, or is not known.

    Raises `OptionError` for what is no URL, `StorageError` for what cannot be read.
    """
    case = Case.of(source, text)
    evidence = {about: words for about, say in ALL.items() if (words := say(case))}
    url = case.record.url if case.record is not None else case.url.href
    return _Explanation(url, case.record is not None, _verdict(case), evidence)
