"""What speaks for an answer, one thing a function: None where there is nothing to say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.frontier.dispatch.turns import shares
from sitecrawl.frontier.hosts.sections import Section
from sitecrawl.frontier.judge.explain import explain
from sitecrawl.frontier.queue.order import priority_of
from sitecrawl.frontier.urls.causes import Cause, words_of
from sitecrawl.frontier.urls.record import NO_REFERRER, Flag, UrlState
from sitecrawl.plugins.why.answer import Evidence, moment
from sitecrawl.plugins.why.case import PAGES, Case
from sitecrawl.plugins.why.spelling import changes
from sitecrawl.urls.shape import shape_of
from sitecrawl.urls.url import CRAWLED, Url, parse

NEAREST: Final = 5
"""URLs that are named beside one that is not known; and copies of a page."""
_STATES: Final = {
    UrlState.QUEUED: "it waits",
    UrlState.FETCHED: "it was fetched",
    UrlState.FAILED: "nothing came of it",
    UrlState.EXCLUDED: "it is not to be asked for",
    UrlState.REQUISITE: "it was fetched as a part of pages",
}


def known(case: Case) -> Evidence:
    """Whether the crawl knows it, since when, and from which page."""
    record = case.record
    if case.of_a_browser is not None:
        return Evidence("known", "as a part of pages alone, that a browser asked for", {"known": False})
    if record is None:
        return Evidence("known", "no", {"known": False})
    since, until = _since(case)
    facts: dict[str, Any] = {
        "known": True,
        "as": record.url,
        "state": record.state.name.lower(),
        "depth": record.depth,
        "seed": bool(record.flags & Flag.SEED),
        "since": since,
        "referrer": _referrer(case) or None,
    }
    text = f"yes, {_STATES[record.state]}"
    if record.url != case.url.href:
        text += f"; as {record.url}"
    text += f"\n{_found(case, facts)}"
    if since:
        text += f", {moment(since)}" + (f" or on a later visit, up to {moment(until)}" if until > since else "")
    return Evidence("known", text, facts)


def _found(case: Case, facts: dict[str, Any]) -> str:
    assert case.record is not None
    if facts["seed"]:
        return "a seed"
    links = "1 link" if case.record.depth == 1 else f"{case.record.depth:,} links"
    if facts["referrer"]:
        kind = "first as a part of" if case.record.flags & Flag.REQUISITE else "first linked to by"
        return f"{kind} {facts['referrer']}, {links} from a seed"
    return f"no page is known that linked to it; {links} from a seed"


def _referrer(case: Case) -> str:
    record = case.record
    return "" if record is None or record.referrer == NO_REFERRER else case.source.name(record.referrer)


def _since(case: Case) -> tuple[float, float]:
    """When its page came, first and last, in Unix seconds: nobody notes when a link was found. 0 for not known."""
    record = case.record
    if record is not None and record.flags & Flag.SEED:
        return case.source.manifest.created, 0.0
    name = _referrer(case)
    times = [one.fetched for one in case.source.versions(parse(name, schemes=CRAWLED))] if name else []
    if not times and record is not None and (page := case.source.record(record.referrer)) is not None:
        times = [page.fetched] if page.fetched else []
    return (min(times), max(times)) if times else (0.0, 0.0)


def canonical(case: Case) -> Evidence:
    """Its identity, and what was changed on the way to it."""
    found = list(changes(case.text, case.url, case.canonical))
    text = case.canonical + "".join(f"\n{one}" for one in found)
    rule = None
    if case.rule is not None:
        rule = f"{case.rule}, {case.rule.evidence.state.name.lower()}"
        text += f"\nlearnt of its host ({rule})" + (f": {case.stands} stands for it" if case.stands else "")
    facts = {"canonical": case.canonical, "changes": found, "rule": rule, "stands": case.stands or None}
    return Evidence("canonical", text, facts)


def scope(case: Case) -> Evidence:
    """Whether the crawl's rules let it in."""
    terms = case.source.terms
    if terms is None or case.source.scope is None:
        text = "not known: the spider has no scope that the crawl could keep" if terms else "not known"
        return Evidence("scope", text, {"in_scope": None, "rule": None})
    rule = case.out_of_scope()
    most = case.source.max_depth(case.url.host)
    if not rule and case.record is not None and 0 < most < case.record.depth:
        rule = f"it is farther from the seeds than max_depth={most}"
    limits = [f"scope={terms.scope}"]
    limits += [f"{name}={value}" for name in ("max_depth", "max_pages") if (value := getattr(terms, name))]
    limits += [f"{name}={value}" for name in ("allow", "deny") for value in getattr(terms, name)]
    sheet = case.source.sheets.of(case.url.host)
    of_sheet = [
        (name, getattr(sheet, name)) for name in ("max_depth", "max_pages") if getattr(sheet, name) is not None
    ]
    of_sheet += [(name, value) for name in ("allow", "deny") for value in getattr(sheet, name)]
    limits += [f"{name}={value} of the host's sheet" for name, value in of_sheet]
    text = f"out: {rule}" if rule else f"in ({', '.join(limits)})"
    return Evidence("scope", text, {"in_scope": not rule, "rule": rule or None, "limits": limits})


def robots(case: Case) -> Evidence | None:
    """The line of robots.txt that decides."""
    terms, found = case.source.terms, case.robots
    if case.url.scheme == "ftp":
        return None
    if terms is not None and not terms.robots:
        return Evidence("robots.txt", "is not asked for (ROBOTSTXT_OBEY)", {"allowed": True, "line": None})
    if found is None:
        return Evidence("robots.txt", "none is stored", {"allowed": None, "line": None})
    at = moment(found.capture.fetched)
    facts: dict[str, Any] = {
        "allowed": not found.forbids if found.is_answer else None,
        "line": found.rule.number if found.rule else None,
        "rule": found.rule.text if found.rule else None,
        "status": found.capture.status,
        "fetched": found.capture.fetched,
    }
    if found.leave is not None:
        text = f"is not obeyed below {', '.join(found.leave.paths)}: {found.leave.reason} ({at})"
        facts |= {"allowed": True, "leave": found.leave.reason}
    elif not found.is_answer:
        text = f"cannot be had: it answered {found.capture.status} ({at}), so nothing is asked for"
    elif found.rule is None:
        text = f"allows it: no line is about it (status {found.capture.status}, {at})"
    else:
        verb = "forbids" if found.forbids else "allows"
        text = f"{verb} it, line {found.rule.number}: {found.rule.text} ({at})"
    return Evidence("robots.txt", text, facts)


def section(case: Case) -> Evidence | None:
    """The URLs that it is judged with."""
    one = case.section
    if one is None or case.host is None:
        return None
    facts = {
        "host": case.host.name,
        "shape": one.shape,
        "known": one.known,
        "fetched": one.fetched,
        "good": one.good,
        "waiting": one.queued,
        "worth": round(one.worth, 4),
        "share": _share(case, one),
    }
    text = f"{one.shape} of {case.host.name}: {one.known:,} URLs known, {one.fetched:,} fetches, {one.good:,} good, "
    text += f"{one.queued:,} waiting"
    if facts["share"] is not None:
        text += f"; it has {facts['share']:.0%} of its host's turns"
    return Evidence("section", text, facts)


def _share(case: Case, one: Section) -> float | None:
    """Of its host's turns, what a section has now; None if it takes none."""
    assert case.host is not None
    waiting = [other for _, other in case.host.waiting() if not other.is_requisites]
    if one.key not in [other.key for other in waiting]:
        return None
    found = shares(waiting)
    return next(share for other, share in zip(waiting, found, strict=True) if other.key == one.key) / sum(found)


def held(case: Case) -> Evidence | None:
    """What holds it back."""
    unit = case.held
    if unit is None or not case.waits:
        return None
    what = "its section" if isinstance(unit, Section) else "its host"
    why = explain(unit, case.source.counts.fetched + case.source.counts.failed)
    return Evidence("held back", f"{what}: {why}", {"by": what.removeprefix("its "), "reason": why})


def host(case: Case) -> Evidence | None:
    """What politeness lets its host do."""
    one, live = case.host, case.live
    if one is None:
        return Evidence("host", f"{case.url.host} is not known", {"known": False})
    facts = {
        "name": one.name,
        "waiting": one.queued,
        "fetched": one.fetched,
        "crawl_delay": one.crawl_delay,
        "rests_until": one.rests_until or None,
        "failures": live.failures,
        "silent": live.dead,
    }
    text = f"{one.name}: {one.fetched:,} fetched, {one.queued:,} waiting"
    if one.crawl_delay:
        text += f"; its robots.txt asks for {one.crawl_delay:g} s between requests"
    if case.waits and one.rests_until:
        text += f"; at the last checkpoint it rested until {moment(one.rests_until)}"
    if live.failures:
        text += f"; {live.failures:,} failures in a row"
    return Evidence("host", text, facts)


def queue(case: Case) -> Evidence | None:
    """Its place among what waits."""
    record, one = case.record, case.section
    if record is None or one is None or case.host is None or not case.waits:
        return None
    before, most = case.source.before(one, record.rank + case.key), case.source.most
    hosts = case.source.hosts_before(case.host)
    priority = priority_of(record.rank)
    text = f"{before:,}{'+' if before >= most else ''} of its section come before it"
    if hosts is not None:
        text += f"; {hosts:,} hosts have their turn before its host"
    if priority:
        text += f"; its priority is {priority}"
    terms = case.source.terms
    order = terms.order if terms is not None else ""
    facts = {"before": before, "hosts_before": hosts, "priority": priority, "order": order}
    return Evidence("queue", f"{text} (order {order})" if order else text, facts)


def last(case: Case) -> Evidence | None:
    """The last answer, or why none came."""
    record, capture = case.record, case.last
    if record is None or not (record.fetched or capture):
        return None
    cause = words_of(record.cause)
    at = record.fetched or (capture.fetched if capture else 0.0)
    facts: dict[str, Any] = {
        "status": record.status,
        "at": at,
        "cause": Cause(record.cause).name.lower() if cause else None,
        "retries": record.attempts,
        "redirect_to": capture.redirect_to if capture else None,
        "stored": len(case.versions),
    }
    text = f"status {record.status}" if record.status else cause or "none"
    if cause and record.status:
        text += f" ({cause})"
    text += f", {moment(at)}"
    if record.attempts:
        text += f"; put back {'once' if record.attempts == 1 else f'{record.attempts:,} times'} before"
    if capture is not None:
        text += (
            f"\n{capture.content_type or 'no type'}, {capture.payload_size:,} bytes; stored {len(case.versions):,}"
        )
        text += " time" if len(case.versions) == 1 else " times"
    if facts["redirect_to"]:
        text += f"\nit redirects to {facts['redirect_to']}"
        if rule := case.out_of_scope(facts["redirect_to"]):
            text += f", which is out of scope: {rule}"
    return Evidence("last answer", text, facts)


def copies(case: Case) -> Evidence | None:
    """The same content elsewhere."""
    capture, pages = case.last, case.source.pages
    if capture is None or pages is None or not capture.payload_size or capture.kind not in PAGES:
        return None
    same = [one.url for one in pages.copies_of(capture, NEAREST)] if case.source.thorough else []
    same = [url for url in dict.fromkeys(same) if url != case.original]
    first = f"its content was first at {case.original}" if case.original else ""
    lines = [first, *(f"the same body: {url}" for url in same)]
    facts = {"first": case.original or None, "equal": same}
    return Evidence("copies", "\n".join(filter(None, lines)), facts) if any(lines) else None


def nearest(case: Case) -> Evidence | None:
    """Known URLs that one may have meant, beside one that is not known."""
    if case.record is not None:
        return None
    found = list(dict.fromkeys((*_variants(case), *_siblings(case))))[:NEAREST]
    return Evidence("nearest", "\n".join(found), {"urls": found}) if found else None


def _variants(case: Case) -> Iterator[str]:
    """The same with another scheme, another slash at its end, with or without `www.`."""
    for url in _other_spellings(case.url):
        if (record := case.source.record(case.source.key(url))) is not None:
            yield record.url


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


def _siblings(case: Case) -> Iterator[str]:
    """The same path with another query."""
    if case.source.pages is not None:
        yield from (one.url for one in case.source.pages.beside(case.canonical, NEAREST))
    if case.host is not None:
        yield from (one.url for one in case.source.waiting_like(case.host, case.url, NEAREST))


def linked(case: Case) -> Evidence | None:
    """Of what is not known, that a page links to it all the same; or that none was found."""
    if case.record is not None or not case.source.search_pages:
        return None
    page = case.linker
    if page is None:
        return Evidence("links", f"none in the newest {case.source.search_pages:,} stored pages", {"page": None})
    depth = f", {page.depth:,} links from a seed" if page.depth is not None else ""
    return Evidence("links", f"{page.url} links to it{depth}", {"page": page.url, "depth": page.depth})


def shape(case: Case) -> Evidence | None:
    """The section that one that is not known would be in."""
    if case.record is not None or case.host is None:
        return None
    name = str(shape_of(case.url.href))
    one = next((found for found in case.host.sections.values() if found.shape == name), None)
    if one is None:
        return None
    text = f"it would be one of {name}: {one.known:,} URLs known, {one.fetched:,} fetches, {one.good:,} good"
    return Evidence("section", text, {"shape": name, "known": one.known, "fetched": one.fetched, "good": one.good})


ALL: Final[tuple[Callable[[Case], Evidence | None], ...]] = (
    known,
    canonical,
    scope,
    robots,
    last,
    held,
    section,
    shape,
    queue,
    host,
    copies,
    linked,
    nearest,
)
"""In the order in which a person reads them."""
