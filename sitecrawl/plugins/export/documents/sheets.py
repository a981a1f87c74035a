"""The cells of a workbook (ECMA-376 part 1, SpreadsheetML): a line a row, with tabs between cells."""

from __future__ import annotations

from sitecrawl.plugins.export.documents.document import Full, Gathered

_STRINGS_HELD = 32 << 20
"""Characters of all strings that cells share."""


class SharedStrings:
    """The strings that cells name by their numbers."""

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._parts: list[str] = []
        self._is_text = False
        self._sounds = 0
        self._left = _STRINGS_HELD

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._sounds += name == "rPh"  # how a word is pronounced: it says the same again
        self._is_text = name == "t" and not self._sounds

    def end(self, name: str) -> None:
        self._is_text = False
        self._sounds -= name == "rPh"
        if name == "si":
            self.strings.append("".join(self._parts))
            self._parts.clear()

    def data(self, text: str) -> None:
        if self._is_text:
            self._left -= len(text)
            if self._left < 0:
                raise Full
            self._parts.append(text)


class Sheet:
    """Adds the cells of one sheet to `into`: numbers as they are stored, formulas as their results."""

    def __init__(self, strings: list[str], into: Gathered) -> None:
        self._strings = strings
        self._into = into
        self._type = ""
        self._within = ""
        self._value: list[str] = []
        self._is_first = True

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._into.step()
        if name == "c":
            self._type = attributes.get("t", "n")
            self._value.clear()
        self._within = name

    def end(self, name: str) -> None:
        self._within = ""
        if name == "c":
            self._put("".join(self._value))
        elif name == "row":
            self._into.add("\n")
            self._is_first = True

    def data(self, text: str) -> None:
        if self._within in {"v", "t"}:
            self._value.append(text)

    def _put(self, value: str) -> None:
        if self._type == "s":
            place = int(value) if value.isascii() and value.isdigit() and len(value) < 10 else len(self._strings)
            value = self._strings[place] if place < len(self._strings) else ""
        if value:
            self._into.add(value if self._is_first else f"\t{value}")
            self._is_first = False
