"""The pages of a crawl with the texts of its documents, and what is said where they have none."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from sitecrawl.base.extras import how_to_install
from sitecrawl.page.budget import DEFAULT
from sitecrawl.page.links import AGENT
from sitecrawl.pagestore.workers import Reader
from sitecrawl.plugins.export.documents.document import NOT_INSTALLED
from sitecrawl.plugins.export.documents.isolated import LIMITS, IsolatedDocuments
from sitecrawl.plugins.export.pages import Pages
from sitecrawl.plugins.export.text import finds_main_text


@contextmanager
def pages_with_texts(reader: Reader, frontier: Path | None = None, agent: str = AGENT) -> Iterator[Pages]:
    """Those in `reader`, and what is known of them in the `frontier`, if its directory is another; `agent` is
    our name to robots.txt. What documents lacked is said on stderr at the end.
    """
    with closing(IsolatedDocuments()) as documents, Pages(reader, documents, frontier, agent) as pages:
        yield pages
        for line in lacking(documents.unread, pages):
            print(f"scrapy: {line}", file=sys.stderr)


def lacking(unread: Mapping[str, int], pages: Pages) -> Iterator[str]:
    """A line for each thing that texts lack."""
    without = unread.get(NOT_INSTALLED, 0)
    missing = {}
    if pages.has_asked_for_text and not finds_main_text():
        missing["export"] = "texts are whole pages, not their main texts"
    if without:
        missing["documents"] = f"{counted(without, 'PDF file')} no text"
    if missing:
        yield f"{', and '.join(missing.values())}: {how_to_install(','.join(missing))}"
    others = Counter({reason: number for reason, number in unread.items() if reason != NOT_INSTALLED})
    if others:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in others.most_common())
        yield f"{counted(others.total(), 'document')} no text: {reasons}"
    if pages.cut:
        yield f"{counted(pages.cut, 'document')} more text than the {LIMITS.characters:,} characters that were read"
    if pages.shortened:
        most = f"the {DEFAULT.max_size:,} bytes or {DEFAULT.max_elements:,} elements that were read"
        yield f"{counted(pages.shortened, 'page')} more than {most}"


def counted(number: int, what: str) -> str:
    """How many have something."""
    return f"{number:,} {what} has" if number == 1 else f"{number:,} {what}s have"
