"""The text of PDF and Office files: which reader finds it, and what it costs.

    python benchmarks/documenttext.py --pages 4
    python benchmarks/documenttext.py --office FOLDER

The first has Chromium print pages of the seven real sites (../shared/tools/real_web.py unpacks them) to PDF. What the
browser says is visible (`innerText`) is the label: its words are compared with those that a reader finds, as
multisets; precision and recall, the mean over files. The second has all `.docx`, `.pptx` and `.odt` below a folder
read, such as the tests of the libraries that read them, and says how many words each reader finds, and how many of
ours it lacks. Readers that are not installed are left out. Milliseconds are of CPU; the last figure is by
how much a process of that reader alone has grown. With `isolated` both are those of the process that asks.
"""

from __future__ import annotations

import argparse
import io
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT)]

from chromium import chromium  # noqa: E402 - the path comes first
from maintext import scores, words  # noqa: E402
from realweb import tool  # noqa: E402

from sitecrawl.plugins.export.documents.document import DocumentLimits  # noqa: E402
from sitecrawl.plugins.export.documents.isolated import IsolatedDocuments  # noqa: E402
from sitecrawl.plugins.export.documents.office import read_office  # noqa: E402
from sitecrawl.plugins.export.documents.pdf import read_pdf  # noqa: E402

LIMITS = DocumentLimits()
TYPES = {
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "odt": "application/vnd.oasis.opendocument.text",
}
Read = Callable[[bytes], str]


def isolated(kind: Any) -> Read:
    documents = IsolatedDocuments()

    def read(body: bytes) -> str:
        found = documents.read(kind, body)
        return found.text if found is not None else ""

    return read


def kreuzberg(ending: str) -> Read:
    from kreuzberg import extract_bytes_sync  # noqa: PLC0415 - none of these is part of the environment

    return lambda body: str(extract_bytes_sync(body, TYPES[ending]).content)


def pypdf() -> Read:
    from pypdf import PdfReader  # noqa: PLC0415

    return lambda body: "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(body)).pages)


def pdfminer() -> Read:
    from pdfminer.high_level import extract_text  # noqa: PLC0415

    return lambda body: str(extract_text(io.BytesIO(body)))


def python_docx() -> Read:
    from docx import Document  # noqa: PLC0415

    def read(body: bytes) -> str:
        document = Document(io.BytesIO(body))
        cells = (cell.text for table in document.tables for row in table.rows for cell in row.cells)
        return "\n".join([*(paragraph.text for paragraph in document.paragraphs), *cells])

    return read


def python_pptx() -> Read:
    from pptx import Presentation  # noqa: PLC0415

    def texts(body: bytes) -> Iterator[str]:
        for slide in Presentation(io.BytesIO(body)).slides:
            for shape in slide.shapes:
                if shape.has_text_frame:
                    yield shape.text_frame.text
                if shape.has_table:
                    yield from (cell.text for row in shape.table.rows for cell in row.cells)

    return lambda body: "\n".join(texts(body))


def odfpy() -> Read:
    from odf import opendocument, teletype, text  # noqa: PLC0415

    def read(body: bytes) -> str:
        document = opendocument.load(io.BytesIO(body))
        kinds = (text.P, text.H)
        return "\n".join(teletype.extractText(one) for kind in kinds for one in document.getElementsByType(kind))

    return read


OFFICE = {"docx": ("python-docx", "docx", python_docx), "pptx": ("python-pptx", "pptx", python_pptx)}
OFFICE["odt"] = ("odfpy", "odf", odfpy)


def readers(ending: str) -> Iterator[tuple[str, Callable[[], Read]]]:
    """Those that are installed, ours first."""
    if ending == "pdf":
        yield "PDFium", lambda: lambda body: read_pdf(body, LIMITS).text
        others = [("pypdf", "pypdf", pypdf), ("pdfminer.six", "pdfminer", pdfminer)]
    else:
        yield "ours", lambda: lambda body: read_office(body, LIMITS).text
        others = [OFFICE[ending]]
    yield "isolated", lambda: isolated("pdf" if ending == "pdf" else "office")
    for name, module, make in [*others, ("kreuzberg", "kreuzberg", lambda: kreuzberg(ending))]:
        if find_spec(module) is not None:
            yield name, make


def printed(folder: Path, pages: int) -> Iterator[tuple[bytes, Counter[str]]]:
    """Pages of every site, by chance, as PDF files, and the words that are visible."""
    tool().unpack(folder)
    with chromium() as browser:
        page = browser.new_page()
        page.emulate_media(media="print")
        for site in sorted(path for path in folder.iterdir() if path.is_dir()):
            files = sorted(path for path in site.rglob("*.htm*") if 4_000 < path.stat().st_size < 150_000)
            for file in Random(1).sample(files, min(pages, len(files))):
                page.goto(file.as_uri())
                visible = words(page.evaluate("document.body.innerText"))
                if visible:
                    yield page.pdf(), visible


def held() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def measured(make: Callable[[], Read], bodies: Sequence[bytes]) -> tuple[list[Counter[str]], float, float]:
    """The words that a reader finds in each, its milliseconds a file, its memory in MB."""
    before = held()
    read, found = make(), []
    started = time.process_time()
    for body in bodies:
        try:
            found.append(words(read(body)))
        except Exception:  # noqa: BLE001 - whatever a library raises: it has found nothing
            found.append(Counter())
    seconds = time.process_time() - started
    return found, 1000 * seconds / len(bodies), held() - before


def compare(ending: str, bodies: Sequence[bytes], labels: Sequence[Counter[str]] | None) -> None:
    first: list[Counter[str]] = []
    for name, make in readers(ending):
        queue = get_context("fork").SimpleQueue()
        process = get_context("fork").Process(target=lambda make=make, queue=queue: queue.put(measured(make, bodies)))
        process.start()
        found, each, memory = queue.get()
        process.join()
        first = first or found
        if labels is None:
            lacks = sum((ours - theirs).total() for ours, theirs in zip(first, found, strict=True))
            said = f"{sum(one.total() for one in found):,} words | lacks {lacks:,} of ours"
        else:
            both = [scores(*pair) for pair in zip(found, labels, strict=True)]
            said = f"precision {fmean(one[0] for one in both):.3f} | recall {fmean(one[1] for one in both):.3f}"
        print(f"{ending}, {len(bodies)} files | {name} | {said} | {each:.1f} ms | {memory:+.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=4, help="of each site")
    parser.add_argument("--office", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    if options.office is not None:
        for ending in OFFICE:
            if files := sorted(options.office.rglob(f"*.{ending}")):
                compare(ending, [file.read_bytes() for file in files], None)
        return
    with tempfile.TemporaryDirectory(prefix="documents-") as name:
        pairs = list(printed(Path(name), options.pages))
    compare("pdf", [body for body, _ in pairs], [label for _, label in pairs])


if __name__ == "__main__":
    main()
