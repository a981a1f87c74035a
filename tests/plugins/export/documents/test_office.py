"""The text of Office files."""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress

import pytest
from documents import docx_of, odt_of, pptx_of, xlsx_of, zip_of

from sitecrawl.plugins.export.documents.document import Document, DocumentLimits, Unreadable
from sitecrawl.plugins.export.documents.office import read_office

LIMITS = DocumentLimits()


def word_of(body: str, **more: str) -> bytes:
    """A package with that markup in its document."""
    return zip_of({**more, "word/document.xml": f'<w:document xmlns:w="x">{body}</w:document>'})


def text_of(body: str) -> str:
    return read_office(word_of(body), LIMITS).text


def test_a_word_document() -> None:
    """Paragraphs and cells are lines; its title and language are those that it names."""
    body = docx_of("Grüße, 日本", "a\tb\nc", title="A title", language="de-AT", table=[["1", "2"], ["3", "4"]])
    text = "Grüße, 日本\na\tb\nc\n1\n2\n3\n4"
    assert read_office(body, LIMITS) == Document(text, "A title", "de-AT", 1)


def test_what_of_a_word_document_is_no_text() -> None:
    """Tab stops, what was deleted or moved away, and what is said twice for older programs."""
    assert text_of("<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>kept</w:t><w:tab/><w:t>on</w:t></w:r></w:p>") == "kept\ton"  # fmt: skip # noqa: E501
    assert (
        text_of("<w:p><w:del><w:delText>gone</w:delText></w:del><w:moveFrom><w:t>away</w:t></w:moveFrom></w:p>") == ""
    )
    twice = (
        "<w:A><w:Choice><w:p><w:t>box</w:t></w:p></w:Choice><w:Fallback><w:p><w:t>box</w:t></w:p></w:Fallback></w:A>"
    )
    assert text_of(twice) == "box"


def test_notes_of_a_word_document() -> None:
    """Footnotes follow the text."""
    notes = {"word/footnotes.xml": "<n><p><t>below</t></p></n>"}
    assert read_office(word_of("<p><t>above</t></p>", **notes), LIMITS).text == "above\nbelow"


def test_a_presentation() -> None:
    """Slides come in their order, and are counted."""
    body = pptx_of(("One", "first\nline"), ("Two", "second"), title="Talk")
    assert read_office(body, LIMITS) == Document("One\nfirst\nline\nTwo\nsecond", "Talk", None, 2)


def test_a_workbook() -> None:
    """A row is a line with tabs between its cells; numbers are as they are stored, and sheets are counted."""
    body = xlsx_of({"a": [["name", "n"], ["Grüße", 1.5], [None, True]], "b": [["last"]]}, title="Table")
    assert read_office(body, LIMITS) == Document("name\tn\nGrüße\t1.5\n1\nlast", "Table", None, 2)


def test_an_open_document() -> None:
    """Headings and paragraphs are lines, with the spaces and tabs that elements stand for; comments are none."""
    content = (
        "<text:h>Head</text:h><text:p>a<text:s text:c='3'/>b<text:tab/>c<text:span>d</text:span><text:line-break/>e"
        "<office:annotation><text:p>comment</text:p></office:annotation></text:p>"
        "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
    )
    expected = Document("Head\na   b\tcd\ne", "T", "fr-FR", 7)
    assert read_office(odt_of(content, "T", "fr-FR", 7), LIMITS) == expected


def test_a_text_beyond_the_limit_is_cut() -> None:
    """As much is read as is wanted, and it is said that there is more."""
    found = read_office(docx_of("long " * 100), DocumentLimits(characters=12))
    assert (found.text, found.is_cut) == ("long long lo", True)


def test_no_time_left() -> None:
    """What was read until then is the text."""
    found = read_office(docx_of("one", "two"), DocumentLimits(seconds=-1.0))
    assert (found.text, found.is_cut) == ("one", True)


ENTITIES = "<!DOCTYPE x [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;'>]><x><p>&b;</p></x>"
OUTSIDE = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><x><p>&a;</p></x>"


ODF_ENCRYPTED = '<m xmlns:a="x"><a:file-entry a:full-path="content.xml"><a:encryption-data/></a:file-entry></m>'
OFFICE_ENCRYPTED = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1024) + "EncryptedPackage".encode("utf-16-le")


def encrypted() -> bytes:
    """An archive that says of its only file that it has a password."""
    body = bytearray(zip_of({"content.xml": "<p>words</p>"}))
    body[6] |= 1
    body[body.index(b"PK\x01\x02") + 8] |= 1
    return bytes(body)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"PK\x03\x04 no archive", "damaged"),
        (docx_of("words")[:-30], "damaged"),
        (zip_of({}), "damaged"),
        (zip_of({"content.xml": b"\xff\xfe\x00"}), "damaged"),
        (zip_of({"content.xml": ENTITIES}), "entities"),
        (zip_of({"content.xml": OUTSIDE}), "entities"),
        (zip_of({"content.xml": "<x>" + " " * 200_000 + "</x>"}), "bomb"),
        (encrypted(), "encrypted"),
        (zip_of({"content.xml": b"\x8f\x12", "META-INF/manifest.xml": ODF_ENCRYPTED}), "encrypted"),
        (zip_of({"content.xml": b"\x8f\x12", "META-INF/manifest.xml": "<m><file-entry/></m>"}), "damaged"),
        (OFFICE_ENCRYPTED, "encrypted"),
    ],
    ids=range(11),  # bodies are long
)
def test_what_cannot_be_read(body: bytes, reason: str) -> None:
    """Archives that are none, documents without their parts, bombs, entities, passwords."""
    with pytest.raises(Unreadable) as caught:
        read_office(body, DocumentLimits(unpacked=200_000))
    assert caught.value.reason == reason


def test_a_string_that_many_cells_share_is_bounded() -> None:
    """A million cells may name one long string: the text is no longer than it may be."""
    strings = f"<sst><si><t>{'long ' * 10_000}</t></si></sst>"
    sheet = "<s>" + "<row>" + '<c t="s"><v>0</v></c>' * 100_000 + "</row></s>"
    parts = {"xl/sharedStrings.xml": strings, "xl/worksheets/sheet1.xml": sheet}
    found = read_office(zip_of(parts), LIMITS)
    assert (len(found.text) <= LIMITS.characters, found.is_cut, found.pages) == (True, True, 1)


def test_an_archive_of_any_file_is_read_to_its_end() -> None:
    """Cut at any place, a document has a text or is unreadable: nothing else is raised."""
    whole = odt_of("<text:p>words</text:p>")
    for end in range(0, len(whole), 7):
        for body in (whole[:end], whole[:end] + b"\0" + whole[end + 1 :]):
            with suppress(Unreadable):
                read_office(body, LIMITS)


def test_files_that_are_no_office_files_have_no_text() -> None:
    """An archive of anything else."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("readme.txt", "words")
    with pytest.raises(Unreadable):
        read_office(out.getvalue(), LIMITS)
