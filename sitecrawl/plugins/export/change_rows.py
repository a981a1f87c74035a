"""Pages that are new, changed, gone or moved as rows, with the rounds that have found them, and as a feed in Atom
(RFC 4287), for readers of feeds and whatever else listens to them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

from sitecrawl.base.display import one_line
from sitecrawl.console.listing import Layout
from sitecrawl.pagestore.printing import time_of
from sitecrawl.pagestore.rounds import Round
from sitecrawl.plugins.export.changes import Change
from sitecrawl.plugins.export.formats import iso_of

_COLUMNS: Final = ("change", "url", "fetched", "before", "status", "title", "to")


def _facts(change: Change) -> dict[str, Any]:
    now, before = change.now.capture, change.before
    return {
        "change": change.what,
        "url": now.url,
        "fetched": iso_of(now.fetched),
        "before": None if before is None else iso_of(before.capture.fetched),
        "status": now.status,
        "title": now.title if now.kind == "page" or before is None else before.capture.title,
        "to": now.redirect_to,
    }


def _with_diff(change: Change) -> dict[str, Any]:
    return {**_facts(change), "diff": "\n".join(change.diff())}


def _line(change: Change) -> str:
    now = change.now.capture
    led = f" -> {one_line(now.redirect_to)}" if now.redirect_to else ""
    return f"{change.what:<8}  {time_of(now)}  {now.status:>6}  {one_line(now.url)}{led}"


def _lines(change: Change) -> str:
    return "\n".join([_line(change), *(f"    {one_line(line)}" for line in change.diff())])


_HEADER: Final = f"{'change':<8}  {'fetched (UTC)':<19}  {'status':>6}  url"
CHANGES: Final = Layout(_HEADER, _line, _COLUMNS, _facts)
WITH_DIFFS: Final = Layout(_HEADER, _lines, (*_COLUMNS, "diff"), _with_diff)


def _round(found: Round) -> str:
    began = datetime.fromtimestamp(found.began, UTC)
    return f"{found.number:>5}  {began:%Y-%m-%d %H:%M:%S}  {found}{', not finished' if found.is_open else ''}"


def _of_round(found: Round) -> Mapping[str, Any]:
    ended = None if found.is_open else iso_of(found.ended)
    return {**asdict(found), "began": iso_of(found.began), "ended": ended}


ROUNDS: Final = Layout(
    f"{'round':>5}  {'began (UTC)':<19}  found", _round, [field.name for field in fields(Round)], _of_round
)


_NO_CHARACTER: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML has not (section 2.2)."""


def atom(found: Iterable[Change], name: str, *, with_diffs: bool) -> Iterator[str]:
    """The lines of a feed of the crawl called `name`, as the changes come."""
    title = _text(f"Changes of {name}")
    yield '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n'
    yield f"<title>{title}</title>\n<id>urn:sitecrawl:changes:{_text(name)}</id>\n"
    yield "<author><name>sitecrawl</name></author>\n"
    newest = 0.0
    for change in found:
        newest = max(newest, change.now.capture.fetched)
        yield _entry(change, with_diffs=with_diffs)
    yield f"<updated>{iso_of(newest or time.time())}</updated>\n</feed>\n"


def _entry(change: Change, *, with_diffs: bool) -> str:
    title = (change.now if change.before is None or change.now.capture.kind == "page" else change.before).title
    at = iso_of(change.now.capture.fetched)
    url = _NO_CHARACTER.sub("\ufffd", change.url)
    about = "\n".join(change.diff()) if with_diffs else ""
    if change.now.capture.redirect_to:
        about = f"now at {change.now.capture.redirect_to}"
    return (
        f"<entry><title>{_text(f'{change.what}: {title or change.url}')}</title>\n"
        f"<id>{_text(f'{change.url}#{at}')}</id><link href={quoteattr(url)}/><updated>{at}</updated>"
        f'<category term="{change.what}"/>\n<summary>{_text(about or change.what)}</summary></entry>\n'
    )


def _text(value: str) -> str:
    return escape(_NO_CHARACTER.sub("\ufffd", value))
