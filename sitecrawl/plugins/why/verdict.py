"""The answer itself: one line, one word for a program, and what would make the URL be fetched."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from sitecrawl.frontier.judge.explain import explain
from sitecrawl.frontier.urls.causes import Cause, words_of
from sitecrawl.frontier.urls.record import UrlRecord, UrlState
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.pagestore.capture import Capture
from sitecrawl.plugins.why.case import Case, moment

_SOON: Final = 2.0
"""Seconds of rest that nobody need be told of."""


class Verdict(NamedTuple):
    """See the module."""

    name: str
    text: str
    advice: str = ""


def verdict(case: Case, now: Callable[[], float] = time.time) -> Verdict:
    """What is to be said of a URL first."""
    if case.record is None:
        return next(_unknown(case))
    of: Callable[[Case, UrlRecord], Verdict] | None = _ENDED.get(case.record.state)
    return of(case, case.record) if of is not None else next(_waiting(case, case.record, now()))


# What has come to an end


def _fetched(case: Case, record: UrlRecord) -> Verdict:
    when = f"Fetched at {moment(record.fetched)}"
    target = case.last.redirect_to if case.last is not None else None
    if target:
        rule = case.out_of_scope(target)
        far = f", which is out of scope ({rule}) and was not followed" if rule else ""
        return Verdict("redirects", f"{when}: it redirects to {target}{far}")
    if case.original and 200 <= record.status < 300:
        return Verdict("repeats", f"{when}, and it has the content of {case.original}")
    if record.status >= 400:
        tries = f" each of {record.attempts + 1:,} times" if record.attempts else ""
        return Verdict("error", f"{when}: its server answered {record.status}{tries}", _AGAIN)
    return Verdict("fetched", f"{when}, with status {record.status}")


def _failed(case: Case, record: UrlRecord) -> Verdict:
    why = words_of(record.cause) or "nothing came"
    given_up = case.host is not None and case.source.is_given_up(case.host, case.key)
    advice = "a crawl that is resumed asks again" if given_up else _AGAIN
    if record.cause in _SAME_AGAIN:
        limit = _SAME_AGAIN[Cause(record.cause)]
        advice = f"{limit}: then {advice}" if limit else ""
    if record.cause == Cause.GIVEN_UP:
        return Verdict("given up", f"Not asked for: {why}, and it was given up", advice)
    tries = "once" if not record.attempts else f"{record.attempts + 1:,} times"
    return Verdict("failed", f"Asked for {tries}, at last at {moment(record.fetched)}, in vain: {why}", advice)


def _excluded(case: Case, record: UrlRecord) -> Verdict:
    if record.cause == Cause.ROBOTS:
        return _by_robots(case, "Not fetched")
    why = words_of(record.cause) or "a rule of the crawl excludes it"
    advice = (
        "name its host as a seed, or set SITECRAWL_ALLOW_PRIVATE" if record.cause == Cause.PRIVATE_ADDRESS else ""
    )
    return Verdict("excluded", f"Not fetched: {why}", advice)


def _by_robots(case: Case, first: str) -> Verdict:
    found = case.robots
    rule = found.rule if found is not None and found.forbids else None
    line = f", line {rule.number}: {rule.text}" if rule is not None else ""
    return Verdict("robots", f"{first}: robots.txt forbids it{line}", "ask the owner of the site for permission")


def _as_requisite(_case: Case, record: UrlRecord) -> Verdict:
    text = f"Fetched at {moment(record.fetched)} as a part of pages, with status {record.status}"
    return Verdict("requisite", f"{text}; no page links to it")


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


def _waiting(case: Case, record: UrlRecord, now: float) -> Iterator[Verdict]:
    yield from _held(case)
    yield from _not_answering(case, record)
    if case.is_full:
        terms = case.source.terms
        most = f"{terms.max_pages:,}" if terms is not None else ""
        text = f"It waits: the crawl has fetched {most} pages, as many as max_pages allows"
        yield Verdict("full", text, "resume the crawl with a greater max_pages")
    yield from _ended(case)
    rest = (case.host.rests_until if case.host is not None else 0.0) - now
    if rest > _SOON:
        text = f"It waits: its host rests until {moment(now + rest)}"
        yield Verdict("resting", text, "nothing more is needed: it comes in its turn after that")
    yield Verdict("waits", "It waits for its turn", "nothing more is needed: it comes in its turn")


def _held(case: Case) -> Iterator[Verdict]:
    unit = case.held
    if unit is None:
        return
    what = f"its section {unit.shape}" if isinstance(unit, Section) else f"its host {unit.name}"
    free = "set it free on the dashboard, or resume with a larger SITECRAWL_TRAP_BUDGET or SITECRAWL_HOLD_TRAPS=False"
    if unit.trap.reason == Reason.BLOCKED:
        yield Verdict("blocked", f"Held back: {what} was blocked by hand", "set it free on the dashboard")
    elif unit.trap.is_full:
        number = f"the {unit.fetched:,} pages that {what} may have are fetched"
        text = f"It waits, and will: {number} (max_pages of its sheet)"
        yield Verdict("full", text, "give its host a greater max_pages in its sheet")
    elif case.is_joined:
        of = f"of {case.stands}" if case.stands else "of a page"
        rule = f", by {case.rule}" if case.rule is not None else ""
        advice = "refuse the rule with `scrapy frontier --refuse-rule` if it is wrong"
        yield Verdict("joined", f"It waits as another form {of}{rule}; only a few such are fetched, as tests", advice)
    else:
        why = explain(unit, case.source.counts.fetched + case.source.counts.failed)
        yield Verdict("held back", f"Held back as a trap, with {what}: {why}", free)


def _not_answering(case: Case, record: UrlRecord) -> Iterator[Verdict]:
    tries = (
        "" if not record.attempts else f" (asked for {record.attempts:,} times, at last at {moment(record.fetched)})"
    )
    if record.cause == Cause.NO_ROBOTS:
        text = f"It waits: the robots.txt of its host cannot be had, and without it nothing is asked for{tries}"
        yield Verdict(
            "robots silent", text, "it is asked for again, less and less often; look at what its server says"
        )
    elif record.cause and record.attempts:
        text = f"It waits to be asked for again: {words_of(record.cause)}{tries}"
        yield Verdict("retry", text, "nothing more is needed: it comes in its turn")


def _ended(case: Case) -> Iterator[Verdict]:
    terms = case.source.terms
    if terms is not None and terms.ended:
        text = f"It waits: the crawl ended at {moment(terms.ended)} ({terms.reason}) before its turn came"
        yield Verdict("ended", text, "resume the crawl: the same command with the same directory")


# What is not known


def _unknown(case: Case) -> Iterator[Verdict]:
    terms = case.source.terms
    if terms is not None and (own := terms.frontier):
        text = f"Not known here: the crawl's frontier is {own}, which has its own records"
        yield Verdict("unknown", text, "ask that frontier; scrapy page URL says whether the page is stored")
        return
    if (got := case.of_a_browser) is not None:
        page = case.source.shown_with(got)
        shown = f" to show {page.url}" if page is not None else ""
        text = f"Fetched at {moment(got.fetched)} by a browser{shown}, with status {got.status}"
        yield Verdict("requisite", f"{text}; no page links to it")
    if rule := case.out_of_scope():
        advice = "begin a crawl with it as a seed, or with a wider scope, allow or deny"
        yield Verdict("out of scope", f"Not known, and it would be left out: {rule}", advice)
    if case.robots is not None and case.robots.forbids and (terms is None or terms.robots):
        yield _by_robots(case, "Not known, and it would be left out")
    seed = "begin a crawl with it as a seed, add it on the dashboard, or look for sitemaps (-a sitemaps=1)"
    if case.linker is not None:
        yield _linked(case.linker, case.source.max_depth(case.url.host))
    found = "Not known: no page that was read is known to link to it"
    if case.is_full:
        text = f"{found}, and the crawl has fetched as many pages as max_pages allows"
        yield Verdict("unknown", text, "resume the crawl with a greater max_pages, or add it as a seed")
    yield Verdict("unknown", found, seed)


def _linked(page: Capture, max_depth: int) -> Verdict:
    """A page that was read links to it, and it was left out all the same."""
    if 0 < max_depth <= (page.depth or 0):
        text = f"Not known: {page.url} links to it, and is as far from the seeds as may be (max_depth={max_depth})"
        return Verdict("too deep", text, "resume the crawl with a greater max_depth, or add it as a seed")
    text = f"Not known, though {page.url} links to it: the spider, or a limit on a page's links, left it out"
    return Verdict("left out", text, "add it as a seed; see docs/limits.md, and the spider's own rules")
