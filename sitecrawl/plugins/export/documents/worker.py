"""The process that reads documents: `python -m sitecrawl.plugins.export.documents.worker`."""

from __future__ import annotations

import codecs
import io
import zipfile
from contextlib import suppress
from typing import Any, Final

from sitecrawl.page.process_serving import Answering, serve
from sitecrawl.plugins.export.documents.document import DocumentLimits, Unreadable
from sitecrawl.plugins.export.documents.office import read_office
from sitecrawl.plugins.export.documents.pdf import read_pdf

_PDF: Final = b"""%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R/Lang(en)>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>> endobj
4 0 obj <</Length 31>> stream
BT /F 12 Tf 9 9 Td (words) Tj ET
endstream endobj
5 0 obj <</Type/Font/Subtype/TrueType/BaseFont/Arial>> endobj
trailer <</Root 1 0 R>>
"""
_READERS: Final = {"pdf": read_pdf, "office": read_office}
_CODECS: Final = ("utf-16-le", "utf-16-be", "cp437", "latin-1", "utf-8")


def main() -> None:
    serve(_ready)


def _ready(begin: dict[str, Any]) -> Answering:
    limits = DocumentLimits(**begin["limits"])
    _rehearse(limits)
    return lambda request, body: _answer(request, body, limits)


def _answer(request: dict[str, Any], body: bytes, limits: DocumentLimits) -> tuple[dict[str, Any], bytes]:
    """What the document says of itself, and its text in UTF-8."""
    try:
        found = _READERS[request["kind"]](body, limits)
    except Unreadable as error:
        return {"unreadable": error.reason}, b""
    facts = {"title": found.title, "language": found.language, "pages": found.pages, "is_cut": found.is_cut}
    return facts, found.text.encode("utf-8", "replace")


def _rehearse(limits: DocumentLimits) -> None:
    """Read one of each kind: what is loaded when it is first needed is loaded now."""
    for name in _CODECS:
        codecs.lookup(name)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.xml", "<?xml version='1.0' encoding='utf-8'?><p>words</p>")
    with suppress(Unreadable):
        read_office(packed.getvalue(), limits)
        read_pdf(_PDF, limits)


if __name__ == "__main__":
    main()
