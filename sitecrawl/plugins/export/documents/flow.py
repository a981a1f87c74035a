"""Text that flows: what is said of a vocabulary of XML, so that its text can be read off as it comes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from sitecrawl.plugins.export.documents.document import Gathered
from sitecrawl.plugins.export.documents.facts import number_of


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Local names of elements."""

    text: Collection[str]
    """In which characters are text."""
    signs: Mapping[str, str]
    """That stand for a character."""
    ends: Mapping[str, str]
    """What follows one."""
    skipped: Collection[str]
    """Of which nothing is read."""


WORD: Final = Vocabulary(
    text={"t"},
    signs={"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"},
    ends={"p": "\n"},
    # Formats, which have elements `tab`, too; what was moved away; what is said again for older programs.
    skipped={"pPr", "rPr", "sectPr", "moveFrom", "Fallback"},
)
SLIDE: Final = Vocabulary(
    text={"t"}, signs={"tab": "\t", "br": "\n"}, ends={"p": "\n"}, skipped={"pPr", "rPr", "Fallback"}
)
OPEN: Final = Vocabulary(
    text={"p", "h"},
    signs={"tab": "\t", "line-break": "\n"},
    ends={"p": "\n", "h": "\n"},
    # What was deleted, comments, the numbers of notes, and what stands beside a slide.
    skipped={"tracked-changes", "annotation", "note-citation", "notes", "forms", "scripts"},
)
_MOST_SPACES: Final = 100


@dataclass(slots=True)
class Flow:
    """Adds the text of one XML file to `into`."""

    vocabulary: Vocabulary
    into: Gathered
    _texts: int = field(default=0, init=False)
    """Elements around the current place in which characters are text."""
    _skipped: int = field(default=0, init=False)
    """Elements around it of which nothing is read, and all within the first of those."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.into.step()
        if self._skipped or name in self.vocabulary.skipped:
            self._skipped += 1
        elif name in self.vocabulary.text:
            self._texts += 1
        elif name in self.vocabulary.signs:
            self.into.add(self.vocabulary.signs[name])
        elif name == "s" and self._texts:  # ODF: so many spaces
            self.into.add(" " * min(number_of(attributes.get("c")) or 1, _MOST_SPACES))

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        if name in self.vocabulary.text:
            self._texts -= 1
        if name in self.vocabulary.ends:
            self.into.add(self.vocabulary.ends[name])

    def data(self, text: str) -> None:
        if self._texts and not self._skipped:
            self.into.add(text)
