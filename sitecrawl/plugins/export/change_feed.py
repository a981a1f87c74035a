"""Changes as a feed in Atom (RFC 4287), for readers of feeds and whatever else listens to them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import Final
from xml.sax.saxutils import escape, quoteattr

from sitecrawl.plugins.export.changes import Change
from sitecrawl.plugins.export.formats import iso_of

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
