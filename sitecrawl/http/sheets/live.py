"""The sheets of a running crawl, with what was set by hand for single hosts over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from sitecrawl.http.sheets.sheet import Sheet, Sheets, undotted

OPTIONS: Final = frozenset({"delay", "concurrency", "priority", "max_pages", "max_depth", "allow", "deny"})
"""What may be set by hand. None of it is a secret."""


class LiveSheets:
    """Asked whenever a sheet is needed, for it may be another one by now."""

    def __init__(self, sheets: Sheets | None = None) -> None:
        self._sheets = sheets or Sheets()
        self._by_hand: dict[str, dict[str, Any]] = {}
        self._named = self._names()

    def __bool__(self) -> bool:
        return bool(self._sheets or self._by_hand)

    def of(self, host: str) -> Sheet:
        """What is otherwise for the host of that name, or for the pool."""
        sheet = self._sheets.of(host)
        if not self._by_hand:  # nearly always, and every link is asked for
            return sheet
        by_hand = self._by_hand.get(undotted(host))
        return replace(sheet, **by_hand) if by_hand else sheet

    def configured(self, host: str) -> Sheet:
        """The same without what was set by hand."""
        return self._sheets.of(host)

    def names(self, host: str) -> bool:
        """Whether a person has named that very host: it has a record of its own, whatever its site has."""
        return host in self._named

    def change(self, host: str, options: Mapping[str, Any]) -> None:
        """From now on these are so for that host, whatever its sheets say; None leaves an option to them again."""
        by_hand = {**self._by_hand.pop(host, {}), **options}
        if kept := {option: value for option, value in by_hand.items() if value is not None}:
            self._by_hand[host] = kept
        self._named = self._names()

    def _names(self) -> frozenset[str]:
        return frozenset(name for sheet in self._sheets.all for name in sheet.hosts) | self._by_hand.keys()
