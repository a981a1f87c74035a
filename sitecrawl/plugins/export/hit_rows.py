"""Rows of pages that were found by their words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from sitecrawl.base.display import one_line
from sitecrawl.console.listing import Layout
from sitecrawl.plugins.export.formats import iso_of
from sitecrawl.plugins.export.fulltext import FOUND, Hit

_SPACE: Final = re.compile(r"\s+")


def _plain(hit: Hit) -> Mapping[str, Any]:
    """What was asked for stands in brackets."""
    snippet = hit.snippet
    for mark, bracket in zip(FOUND, "[]", strict=True):
        snippet = snippet.replace(mark, bracket)
    return {
        **hit._asdict(),
        "snippet": _SPACE.sub(" ", snippet),
        "fetched": iso_of(hit.fetched),
    }


def _hit(hit: Hit) -> str:
    title = one_line(_SPACE.sub(" ", hit.title or "(no title)"))
    return f"{title}\n    {one_line(hit.url)}\n    {one_line(_plain(hit)['snippet'])}"


HITS: Final = Layout("", _hit, Hit._fields, _plain)
