"""What a crawl was told as it holds by now: with what was changed by hand while it ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sitecrawl.base.errors import CorruptFile
from sitecrawl.crawldir.terms import Terms
from sitecrawl.sheets.change import Change, last_of
from sitecrawl.sheets.live import LiveSheets
from sitecrawl.sheets.sheet import Sheet, Sheets

_OF_CRAWL: Final = frozenset({"scope", "allow", "deny", "max_depth", "max_pages"})
_OF_HOSTS: Final = ("hosts", "max_pages", "max_depth", "allow", "deny")
"""What of a sheet explains why a URL is fetched or not."""


def in_force(terms: Terms | None, changes: Sequence[Change]) -> Terms | None:
    """The terms of the crawl itself."""
    changed: dict[str, Any] = {
        change.option: change.after
        for change in last_of(changes).values()
        if not change.host and change.option in _OF_CRAWL
    }
    return terms if terms is None or not changed else replace(terms, **changed)


def sheets_in_force(kept: Iterable[Mapping[str, Any]], changes: Sequence[Change]) -> LiveSheets:
    """The sheets that `Terms.sheets` keeps, as far as they say which URLs are fetched. Raises `CorruptFile`."""
    try:
        sheets = LiveSheets(Sheets([_sheet(one) for one in kept]))
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise CorruptFile(f"The sheets that the crawl was told cannot be read: {error}") from error
    for change in last_of(changes).values():
        if change.host:
            sheets.change(change.host, {change.option: change.by_hand})
    return sheets


def _sheet(kept: Mapping[str, Any]) -> Sheet:
    """JSON knows no tuples."""
    said: dict[str, Any] = {name: kept[name] for name in _OF_HOSTS if name in kept}
    said |= {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
    return Sheet(**said)
