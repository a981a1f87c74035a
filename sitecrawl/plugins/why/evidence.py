"""What speaks for an answer, one thing a function: empty where there is nothing to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

from sitecrawl.base.display import counted
from sitecrawl.base.errors import InvalidUrl
from sitecrawl.frontier.urls.causes import words_of
from sitecrawl.frontier.urls.order import priority_of
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag, UrlRecord, UrlState
from sitecrawl.plugins.why.case import Case, moment
from sitecrawl.plugins.why.source import MOST
from sitecrawl.urls.url import CRAWLED, Url, parse

_STATES: Final = {
    UrlState.QUEUED: "it waits",
    UrlState.FETCHED: "it was fetched",
    UrlState.FAILED: "nothing came of it",
    UrlState.EXCLUDED: "it is not to be asked for",
    UrlState.REQUISITE: "it was fetched as a part of pages",
}


def _known(case: Case) -> str:
    """Whether the crawl knows it, and from which page."""
    record = case.record
    if record is None:
        return "no" if case.of_a_browser is None else "as a part of pages alone, that a browser asked for"
    name = f"; as {record.url}" if record.url != case.url.href else ""
    return f"yes, {_STATES[record.state]}{name}\n{_found(case, record)}"


def _found(case: Case, record: UrlRecord) -> str:
    if record.flags & Flag.SEED:
        return "a seed"
    page = "" if record.referrer == NO_REFERRER else case.source.name(record.referrer)
    kind = "first as a part of" if record.flags & Flag.REQUISITE else "first linked to by"
    found = f"{kind} {page}, " if page else "no page is known that linked to it; "
    return f"{found}{counted(record.depth, 'link')} from a seed"


def _canonical(case: Case) -> str:
    """Its identity, and the rule by which it is another form of a page."""
    if case.rule is None:
        return case.canonical
    rule = f"learnt of its host ({case.rule}, {case.rule.evidence.state.name.lower()})"
    return f"{case.canonical}\n{rule}" + (f": {case.stands} stands for it" if case.stands else "")


def _scope(case: Case) -> str:
    """Whether the crawl's rules let it in."""
    terms = case.source.terms
    if terms is None or case.source.scope is None:
        return "not known: the spider has no scope that the crawl could keep" if terms else "not known"
    rule = case.out_of_scope()
    most = case.source.max_depth(case.url.host)
    if not rule and case.record is not None and 0 < most < case.record.depth:
        rule = f"it is farther from the seeds than max_depth={most}"
    if rule:
        return f"out: {rule}"
    limits = [f"scope={terms.scope}"]
    for told, whose in ((terms, ""), (case.source.sheets.of(case.url.host), " of the host's sheet")):
        values = [(name, getattr(told, name)) for name in ("max_depth", "max_pages") if getattr(told, name)]
        values += [(name, value) for name in ("allow", "deny") for value in getattr(told, name)]
        limits += [f"{name}={value}{whose}" for name, value in values]
    return f"in ({', '.join(limits)})"


def _robots(case: Case) -> str:
    """The line of robots.txt that decides."""
    terms, found = case.source.terms, case.robots
    if terms is not None and not terms.robots:
        return "is not asked for (ROBOTSTXT_OBEY)"
    if found is None:
        return "none is stored" if case.url.scheme != "ftp" else ""
    at = moment(found.capture.fetched)
    if found.leave is not None:
        return f"is not obeyed below {', '.join(found.leave.paths)}: {found.leave.reason} ({at})"
    if not found.is_answer:
        return f"cannot be had: it answered {found.capture.status} ({at}), so nothing is asked for"
    line = f"line {found.rule.number}: {found.rule.text}" if found.rule is not None else "by no line of it"
    return f"{'forbids' if found.forbids else 'allows'} it, {line} ({at})"


def _last(case: Case) -> str:
    """The last answer, or why none came."""
    record, capture = case.record, case.last
    if record is None or not (record.fetched or capture):
        return ""
    cause = words_of(record.cause)
    text = f"status {record.status}" if record.status else cause or "none"
    if cause and record.status:
        text += f" ({cause})"
    text += f", {moment(record.fetched or (capture.fetched if capture else 0.0))}"
    if record.attempts:
        text += f"; put back {'once' if record.attempts == 1 else f'{record.attempts:,} times'} before"
    if capture is None:
        return text
    number = len(case.versions)
    text += f"\n{capture.content_type or 'no type'}, {capture.payload_size:,} bytes; stored {counted(number, 'time')}"
    if capture.redirect_to:
        rule = case.out_of_scope(capture.redirect_to)
        text += f"\nit redirects to {capture.redirect_to}" + (f", which is out of scope: {rule}" if rule else "")
    return text


def _section(case: Case) -> str:
    """The URLs that it is judged with."""
    one = case.section
    if one is None or case.host is None:
        return ""
    numbers = f"{counted(one.known, 'URL')} known, {one.fetched:,} fetched, {one.good:,} good, {one.queued:,} waiting"
    return f"{one.shape} of {case.host.name}: {numbers}"


def _queue(case: Case) -> str:
    """Its place among what waits."""
    record, one = case.record, case.section
    if record is None or one is None or not case.waits:
        return ""
    before = case.source.before(one, record.rank + case.key)
    text = f"{before:,}{'+' if before >= MOST else ''} of its section come before it"
    if priority := priority_of(record.rank):
        text += f"; its priority is {priority}"
    terms = case.source.terms
    return f"{text} (order {terms.order})" if terms is not None and terms.order else text


def _host(case: Case) -> str:
    """What politeness lets its host do."""
    one = case.host
    if one is None:
        return f"{case.url.host} is not known"
    text = f"{one.name}: {one.fetched:,} fetched, {one.queued:,} waiting"
    if one.crawl_delay:
        text += f"; its robots.txt asks for {one.crawl_delay:g} s between requests"
    if case.waits and one.rests_until:
        text += f"; at the last checkpoint it rested until {moment(one.rests_until)}"
    return text


def _nearest(case: Case) -> str:
    """Known URLs beside one that is not: with another scheme, another slash at its end, with or without `www.`."""
    if case.record is not None:
        return ""
    records = (case.source.record(case.source.key(url)) for url in _other_spellings(case.url))
    return "\n".join(dict.fromkeys(record.url for record in records if record is not None))


def _other_spellings(url: Url) -> Iterator[Url]:
    path, mark, query = url.href.partition("?")
    bare = path.removesuffix("/") if path.count("/") > 3 else path
    slashed = f"{bare}{'' if path.endswith('/') else '/'}{mark}{query}"
    for href in (url.href, slashed):
        scheme, _, rest = href.partition("://")
        other = {"http": "https", "https": "http"}.get(scheme, scheme)
        name = rest.removeprefix("www.") if rest.startswith("www.") else f"www.{rest}"
        for spelling in (f"{one}://{two}" for one in (scheme, other) for two in (rest, name)):
            with suppress(InvalidUrl):  # an address has no `www.`
                yield parse(spelling, schemes=CRAWLED)


ALL: Final[dict[str, Callable[[Case], str]]] = {
    "known": _known,
    "canonical": _canonical,
    "scope": _scope,
    "robots.txt": _robots,
    "last answer": _last,
    "section": _section,
    "queue": _queue,
    "host": _host,
    "nearest": _nearest,
}
"""By what they are about, in the order in which a person reads them."""
