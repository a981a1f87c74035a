"""The text of Office files: Word, PowerPoint and Excel since 2007 (ECMA-376), and OpenDocument (ISO 26300).

All are ZIP archives of XML files, which are told apart by their names. lxml reads them a paragraph at a time; it
resolves no entities, and its own limits hold. What an archive says that it unpacks to is bounded.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from lxml import etree

from sitecrawl.page.media_type import is_encrypted_package
from sitecrawl.plugins.export.documents.document import (
    MAX_FACT,
    Document,
    DocumentLimits,
    Full,
    Gathered,
    Unreadable,
)

_SIGNS: Final = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "line-break": "\n"}
"""Elements that stand for a character."""
_MOST_SPACES: Final = 100
_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, etree.LxmlError, EOFError, OSError, NotImplementedError, ValueError, KeyError,
)  # fmt: skip
"""What `zipfile` and lxml raise at archives that are none, or of a kind that they do not know."""


class _Form(NamedTuple):
    """A kind of document: the names of its parts, in their order, and where its text is."""

    parts: re.Pattern[str]
    skipped: frozenset[str]
    """Local names of elements of which nothing is read."""
    facts: tuple[str, ...] = ("docProps/core.xml", "docProps/app.xml")
    is_mixed: bool = False
    """Whether all characters of a paragraph are text, and not those in `t` alone."""


_OPEN: Final = _Form(
    re.compile(r"content\.xml"), frozenset({"tracked-changes", "annotation", "note-citation", "notes", "forms"}),
    ("meta.xml",), is_mixed=True,
)  # fmt: skip
_SLIDES: Final = _Form(re.compile(r"ppt/slides/slide(\d+)\.xml"), frozenset({"Fallback"}))
_SHEETS: Final = _Form(re.compile(r"xl/worksheets/sheet(\d+)\.xml"), frozenset({"rPh"}))
# Formats have elements `tab`, too; what was moved away; what is said again for older programs.
_WORD: Final = _Form(
    re.compile(r"word/(?:document|footnotes|endnotes)\.xml"), frozenset({"pPr", "rPr", "moveFrom", "Fallback"})
)


def read_office(body: bytes, limits: DocumentLimits) -> Document:
    """Raises `Unreadable`."""
    if is_encrypted_package(body):
        raise Unreadable("encrypted")
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            if sum(one.file_size for one in archive.infolist()) > limits.unpacked:
                raise Unreadable("bomb")
            return _read(archive, Gathered(limits))
    except _DAMAGE as error:
        raise Unreadable("damaged") from error
    except RuntimeError as error:  # what `zipfile` says of a file with a password
        raise Unreadable("encrypted") from error


def _read(archive: zipfile.ZipFile, into: Gathered) -> Document:
    names = archive.namelist()
    forms = (
        (form, [name for name in names if form.parts.fullmatch(name)]) for form in (_OPEN, _WORD, _SLIDES, _SHEETS)
    )
    form, parts = next((found for found in forms if found[1]), (_WORD, []))
    if not parts:
        raise Unreadable("damaged")
    parts.sort(key=lambda name: (len(name), name))
    is_cut = False
    try:
        if form is _SHEETS:
            _cells(archive, parts, into)
        else:
            for name in parts:
                _paragraphs(archive, name, form, into)
    except Full:
        is_cut = True
    except etree.LxmlError:
        if form is _OPEN and b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise Unreadable("encrypted") from None
        raise
    said = {key: text for name in form.facts if name in names for key, text in _facts(archive, name)}
    pages = len(parts) if form in {_SLIDES, _SHEETS} else _number(said.get("Pages"))
    return Document(into.text, said.get("title"), said.get("language"), pages, is_cut)


def _elements(archive: zipfile.ZipFile, name: str, *wanted: str) -> Iterator[tuple[str, Any]]:
    """The elements of a part with these local names, whole, and their local names; cleared when the next is read."""
    with archive.open(name) as file:
        tags = [f"{{*}}{tag}" for tag in wanted]
        for _, element in etree.iterparse(file, tag=tags, resolve_entities=False, no_network=True):
            if element.getroottree().docinfo.internalDTD is not None:
                raise Unreadable("entities")
            yield _name(element), element
            element.clear(keep_tail=True)


def _name(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else ""


def _paragraphs(archive: zipfile.ZipFile, part: str, form: _Form, into: Gathered) -> None:
    skipped = [f"{{*}}{name}" for name in form.skipped]
    for _, element in _elements(archive, part, "p", "h"):
        into.step()
        if next(element.iterancestors(*skipped), None) is None:
            into.add("".join(_pieces(element, form)) + "\n")


def _pieces(element: Any, form: _Form) -> Iterator[str]:
    name = _name(element)
    if name in _SIGNS:
        yield _SIGNS[name]
    elif name == "s":  # ODF: so many spaces
        count = next((value for key, value in element.attrib.items() if key.endswith("}c")), "1")
        yield " " * min(_number(count) or 1, _MOST_SPACES)
    if form.is_mixed or name == "t":
        yield element.text or ""
    for child in element:
        if _name(child) not in form.skipped:
            yield from _pieces(child, form)
        if form.is_mixed:
            yield child.tail or ""


def _cells(archive: zipfile.ZipFile, sheets: list[str], into: Gathered) -> None:
    """The cells of all sheets, a line a row, with tabs between them: numbers as they are stored, formulas as their
    results. Raises `Full`.
    """
    shared = "xl/sharedStrings.xml"
    items = _elements(archive, shared, "si") if shared in archive.namelist() else ()
    strings = ["".join(_pieces(item, _SHEETS)) for _, item in items]
    for sheet in sheets:
        for _, row in _elements(archive, sheet, "row"):
            into.step()
            values = [_value(cell, strings) for cell in row if _name(cell) == "c"]
            for number, value in enumerate(filter(None, values)):
                into.add(f"\t{value}" if number else value)
            into.add("\n")


def _value(cell: Any, strings: list[str]) -> str:
    text = "".join("".join(_pieces(one, _SHEETS)) if _name(one) == "is" else _plain(one) for one in cell)
    if cell.get("t") != "s":
        return text
    place = _number(text)
    return strings[place] if place is not None and place < len(strings) else ""


def _plain(element: Any) -> str:
    return (element.text or "") if _name(element) == "v" else ""


def _facts(archive: zipfile.ZipFile, part: str) -> Iterator[tuple[str, str]]:
    """What a document says of itself: title, language, and the number of its pages."""
    for name, element in _elements(archive, part, "title", "language", "Pages", "document-statistic"):
        if name == "document-statistic":
            found = {etree.QName(key).localname: value for key, value in element.attrib.items()}
            yield "Pages", found.get("page-count") or found.get("table-count") or ""
        elif text := (element.text or "").strip():
            yield name, text[:MAX_FACT]


def _number(text: str | None) -> int | None:
    """A count; None if it is not plausible."""
    return int(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 10 else None
