"""The text of Office files: Word, PowerPoint and Excel since 2007 (ECMA-376), and OpenDocument (ISO 26300).

What a file is, its parts say, and not its name: an archive with a `content.xml` is OpenDocument, and of a package of
ECMA-376 the root element of the main part is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from sitecrawl.page.document_kinds import is_encrypted_package
from sitecrawl.plugins.export.documents.archive import Archive, Handler
from sitecrawl.plugins.export.documents.document import Document, DocumentLimits, Full, Gathered, Unreadable
from sitecrawl.plugins.export.documents.facts import Elements, Facts, Relation, Root, number_of, relations_of
from sitecrawl.plugins.export.documents.flow import OPEN, SLIDE, WORD, Flow
from sitecrawl.plugins.export.documents.sheets import SharedStrings, Sheet

_NOTES: Final = ("footnotes", "endnotes")


def read_office(body: bytes, limits: DocumentLimits) -> Document:
    """Raises `Unreadable`."""
    if is_encrypted_package(body):
        raise Unreadable("encrypted")
    archive = Archive(body, limits.unpacked)
    gathered = Gathered(limits)
    if "content.xml" in archive:
        return _open_document(archive, gathered)
    return _package(archive, gathered)


def _open_document(archive: Archive, gathered: Gathered) -> Document:
    try:
        is_cut = _is_cut(archive, iter([("content.xml", Flow(OPEN, gathered))]))
    except Unreadable as error:
        if _has_password(archive):
            raise Unreadable("encrypted") from error
        raise
    said, counted = Facts("title", "language"), Elements("document-statistic")
    archive.walk("meta.xml", said)
    archive.walk("meta.xml", counted)
    count = next(iter(counted.found), {})
    pages = number_of(count.get("page-count")) or number_of(count.get("table-count"))
    return Document(gathered.text, said.get("title"), said.get("language"), pages, is_cut)


def _has_password(archive: Archive) -> bool:
    """Whether an OpenDocument file says that its parts are encrypted (ISO 26300-3, section 3.4)."""
    encrypted = Elements("encryption-data")
    with suppress(Unreadable):
        archive.walk("META-INF/manifest.xml", encrypted)
    return bool(encrypted.found)


def _package(archive: Archive, gathered: Gathered) -> Document:
    package = relations_of(archive, "").values()
    main = next((one.part for one in package if one.kind == "officeDocument"), "")
    relations = relations_of(archive, main)
    root = Root()
    _is_cut(archive, iter([(main, root)]))
    pages: int | None = None
    if root.name == "document":
        parts = _document(main, relations, gathered)
    elif root.name == "presentation":
        slides = _listed(archive, main, "sldId", relations)
        parts, pages = ((slide, Flow(SLIDE, gathered)) for slide in slides), len(slides)
    elif root.name == "workbook":
        sheets = _listed(archive, main, "sheet", relations)
        parts, pages = _workbook(archive, sheets, relations, gathered), len(sheets)
    else:
        raise Unreadable("damaged")
    is_cut = _is_cut(archive, parts)
    said, counted = Facts("title", "language"), Facts("Pages")
    for one in package:
        if one.kind == "core-properties":
            archive.walk(one.part, said)
        elif one.kind == "extended-properties":
            archive.walk(one.part, counted)
    return Document(gathered.text, said.get("title"), said.get("language"), pages or counted.number("Pages"), is_cut)


def _document(main: str, relations: dict[str, Relation], gathered: Gathered) -> Iterator[tuple[str, Handler]]:
    yield main, Flow(WORD, gathered)
    for one in relations.values():
        if one.kind in _NOTES:
            yield one.part, Flow(WORD, gathered)


def _workbook(
    archive: Archive, sheets: list[str], relations: dict[str, Relation], gathered: Gathered
) -> Iterator[tuple[str, Handler]]:
    shared = SharedStrings()
    for one in relations.values():
        if one.kind == "sharedStrings":
            with suppress(Full):
                archive.walk(one.part, shared)
    for part in sheets:
        yield part, Sheet(shared.strings, gathered)


def _listed(archive: Archive, main: str, name: str, relations: dict[str, Relation]) -> list[str]:
    """The parts to which the elements `name` of the main part refer, in their order."""
    elements = Elements(name)
    archive.walk(main, elements)
    ids = (attributes.get("r:id") for attributes in elements.found)
    return [relations[one].part for one in ids if one in relations]


def _is_cut(archive: Archive, parts: Iterator[tuple[str, Handler]]) -> bool:
    """Read `parts`; whether there was more than may be read."""
    try:
        for name, handler in parts:
            archive.walk(name, handler)
    except Full:
        return True
    return False
