"""The text of Office files: Word, PowerPoint and Excel since 2007 (ECMA-376), and OpenDocument (ISO 26300).

What a file is, its parts say, and not its name: an archive with a `content.xml` is OpenDocument, and of a package of
ECMA-376 the root element of the main part is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from sitecrawl.page.document_kinds import is_encrypted_package
from sitecrawl.plugins.export.documents.archive import END, START, TEXT, Archive, Event, Relation
from sitecrawl.plugins.export.documents.document import Document, DocumentLimits, Full, Gathered, Unreadable

_NOTES: Final = ("footnotes", "endnotes")
_MOST_SPACES: Final = 100
_STRINGS_HELD: Final = 32 << 20
"""Characters of all strings that cells share."""


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """Local names of elements."""

    text: frozenset[str]
    """In which characters are text."""
    signs: Mapping[str, str]
    """That stand for a character."""
    skipped: frozenset[str]
    """Of which nothing is read."""
    paragraphs: frozenset[str] = frozenset({"p"})


_WORD: Final = _Vocabulary(
    text=frozenset({"t"}),
    signs={"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"},
    # Formats, which have elements `tab`, too; what was moved away; what is said again for older programs.
    skipped=frozenset({"pPr", "rPr", "sectPr", "moveFrom", "Fallback"}),
)
_SLIDE: Final = _Vocabulary(
    text=frozenset({"t"}), signs={"tab": "\t", "br": "\n"}, skipped=frozenset({"pPr", "rPr", "Fallback"})
)
_OPEN: Final = _Vocabulary(
    text=frozenset({"p", "h"}),
    signs={"tab": "\t", "line-break": "\n"},
    # What was deleted, comments, the numbers of notes, and what stands beside a slide.
    skipped=frozenset({"tracked-changes", "annotation", "note-citation", "notes", "forms", "scripts"}),
    paragraphs=frozenset({"p", "h"}),
)


def read_office(body: bytes, limits: DocumentLimits) -> Document:
    """Raises `Unreadable`."""
    if is_encrypted_package(body):
        raise Unreadable("encrypted")
    archive = Archive(body, limits.unpacked)
    gathered = Gathered(limits)
    return _open_document(archive, gathered) if "content.xml" in archive else _package(archive, gathered)


def _open_document(archive: Archive, into: Gathered) -> Document:
    is_cut = False
    try:
        _flow(archive.events("content.xml"), _OPEN, into)
    except Full:
        is_cut = True
    except Unreadable as error:
        if _has_password(archive):
            raise Unreadable("encrypted") from error
        raise
    said = archive.said("meta.xml", "title", "language")
    count = next(iter(archive.elements("meta.xml", "document-statistic")), {})
    pages = _number(count.get("page-count")) or _number(count.get("table-count"))
    return Document(into.text, said.get("title"), said.get("language"), pages, is_cut)


def _has_password(archive: Archive) -> bool:
    """Whether an OpenDocument file says that its parts are encrypted (ISO 26300-3, section 3.4)."""
    with suppress(Unreadable):
        return bool(archive.elements("META-INF/manifest.xml", "encryption-data"))
    return False


def _package(archive: Archive, into: Gathered) -> Document:
    package = archive.relations("").values()
    main = next((one.part for one in package if one.kind == "officeDocument"), "")
    relations = archive.relations(main)
    _, root, _ = next(archive.events(main), ("", "", {}))
    listed = partial(_listed, archive, main, relations)
    pages, is_cut = None, False
    try:
        if root == "document":
            notes = [one.part for one in relations.values() if one.kind in _NOTES]
            for part in (main, *notes):
                _flow(archive.events(part), _WORD, into)
        elif root == "presentation":
            pages = len(slides := listed("sldId"))
            for part in slides:
                _flow(archive.events(part), _SLIDE, into)
        elif root == "workbook":
            pages = len(sheets := listed("sheet"))
            shared = [one.part for one in relations.values() if one.kind == "sharedStrings"]
            strings = [text for part in shared for text in _strings(archive.events(part))]
            for part in sheets:
                _cells(archive.events(part), strings, into)
        else:
            raise Unreadable("damaged")
    except Full:
        is_cut = True
    said: dict[str, str] = {}
    for one in package:
        if one.kind in {"core-properties", "extended-properties"}:
            said |= archive.said(one.part, *(("title", "language") if one.kind[0] == "c" else ("Pages",)))
    pages = pages or _number(said.get("Pages"))
    return Document(into.text, said.get("title"), said.get("language"), pages, is_cut)


def _listed(archive: Archive, main: str, relations: dict[str, Relation], element: str) -> list[str]:
    """The parts to which these elements of the main part refer, in their order."""
    ids = (attributes.get("r:id") for attributes in archive.elements(main, element))
    return [relations[one].part for one in ids if one in relations]


def _flow(events: Iterator[Event], vocabulary: _Vocabulary, into: Gathered) -> None:
    """Add the text of one XML file. Raises `Full`."""
    texts = skipped = 0
    for kind, name, attributes in events:
        if kind == TEXT:
            if texts and not skipped:
                into.add(name)
        elif kind == END:
            if skipped:
                skipped -= 1
                continue
            texts -= name in vocabulary.text
            if name in vocabulary.paragraphs:
                into.add("\n")
        else:
            into.step()
            if skipped or name in vocabulary.skipped:
                skipped += 1
            elif name in vocabulary.text:
                texts += 1
            elif name in vocabulary.signs:
                into.add(vocabulary.signs[name])
            elif name == "s" and texts:  # ODF: so many spaces
                into.add(" " * min(_number(attributes.get("c")) or 1, _MOST_SPACES))


def _strings(events: Iterator[Event]) -> Iterator[str]:
    """Those that the cells of a workbook name by their numbers, as far as they are held."""
    parts: list[str] = []
    is_text, sounds, left = False, 0, _STRINGS_HELD
    for kind, name, _ in events:
        if kind == TEXT:
            if is_text:
                left -= len(name)
                if left < 0:
                    return
                parts.append(name)
            continue
        if name == "rPh":  # how a word is pronounced: it says the same again
            sounds += 1 if kind == START else -1
        is_text = kind == START and name == "t" and not sounds
        if kind == END and name == "si":
            yield "".join(parts)
            parts.clear()


def _cells(events: Iterator[Event], strings: list[str], into: Gathered) -> None:
    """Add the cells of one sheet, a line a row, with tabs between them: numbers as they are stored, formulas as their
    results (ECMA-376 part 1, SpreadsheetML). Raises `Full`.
    """
    is_shared, is_value, tab = False, False, ""
    value: list[str] = []
    for kind, name, attributes in events:
        if kind == TEXT:
            if is_value:
                value.append(name)
            continue
        is_value = kind == START and name in {"v", "t"}
        if kind == START:
            into.step()
            if name == "c":
                is_shared = attributes.get("t") == "s"
                value.clear()
        elif name == "c":
            text = "".join(value)
            if is_shared:
                place = _number(text)
                text = strings[place] if place is not None and place < len(strings) else ""
            if text:
                into.add(f"{tab}{text}")
                tab = "\t"
        elif name == "row":
            into.add("\n")
            tab = ""


def _number(text: str | None) -> int | None:
    """A count, if it is one that may be true."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None
