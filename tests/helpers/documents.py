"""Documents: PDF files by hand, Office files by the libraries that programs write them with.

The libraries take two seconds to import, and each process of the suite imports all modules of tests: they come when
they are needed.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
OPEN = "application/vnd.oasis.opendocument.text"
_NAMESPACES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)


def pdf_of(*pages: str, title: str = "", language: str = "", trailer: str = "") -> bytes:
    """A PDF file with a page for each text, in Latin-1."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        f"<</Type/Catalog/Pages 2 0 R/Lang({language})>>",
        f"<</Type/Pages/Count {count}/Kids[{kids}]>>",
        f"<</Title({title})>>",
    ]
    font = "<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>>>>>"
    for number, text in enumerate(pages):
        shown = f"BT /F 12 Tf 72 720 Td ({text}) Tj ET"
        box = "/MediaBox[0 0 612 792]"
        objects.append(f"<</Type/Page/Parent 2 0 R{box}/Contents {5 + 2 * number} 0 R/Resources{font}>>")
        objects.append(f"<</Length {len(shown)}>>stream\n{shown}\nendstream")
    out = io.BytesIO(b"%PDF-1.7\n")
    out.seek(0, io.SEEK_END)
    places = []
    for number, content in enumerate(objects, 1):
        places.append(out.tell())
        out.write(f"{number} 0 obj{content}endobj\n".encode("latin-1"))
    table, size = out.tell(), len(objects) + 1
    out.write(f"xref\n0 {size}\n0000000000 65535 f \n".encode())
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(f"trailer<</Size {size}/Root 1 0 R/Info 3 0 R{trailer}>>startxref\n{table}\n%%EOF".encode())
    return out.getvalue()


def docx_of(*paragraphs: str, title: str = "", language: str = "", table: Sequence[Sequence[str]] = ()) -> bytes:
    import docx

    document = docx.Document()
    document.core_properties.title, document.core_properties.language = title, language
    for paragraph in paragraphs:
        document.add_paragraph(paragraph)
    if table:
        cells = document.add_table(len(table), len(table[0]))
        for row, texts in enumerate(table):
            for column, text in enumerate(texts):
                cells.cell(row, column).text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def pptx_of(*slides: tuple[str, str], title: str = "") -> bytes:
    """A presentation: of each slide its heading and its text."""
    import pptx

    presentation = pptx.Presentation()
    presentation.core_properties.title = title
    for heading, text in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = heading, text
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


def xlsx_of(sheets: dict[str, list[list[object]]], title: str = "") -> bytes:
    import openpyxl

    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    workbook.properties.title = title
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


def odt_of(content: str, title: str = "", language: str = "", pages: int = 1) -> bytes:
    """An OpenDocument text with the given markup between its `office:text`."""
    meta = (
        f'<office:document-meta {_NAMESPACES}><office:meta><dc:title>{title}</dc:title><dc:language>{language}'
        f'</dc:language><meta:document-statistic meta:page-count="{pages}"/></office:meta></office:document-meta>'
    )  # fmt: skip
    body = f"<office:document-content {_NAMESPACES}><office:body><office:text>{content}</office:text></office:body>"
    return zip_of(
        {"mimetype": OPEN, "content.xml": f"{body}</office:document-content>", "meta.xml": meta},
    )


def zip_of(files: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content, zipfile.ZIP_STORED if name == "mimetype" else None)
    return out.getvalue()
