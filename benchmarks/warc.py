"""What it costs to write a page to a WARC file: ours, FastWARC's and warcio's writers, and the whole store.

    python benchmarks/warc.py [DIRECTORY OF HTML FILES]

Without a directory it makes pages of about 19 KB. CPU time of one process, in microseconds a response record.
"""

from __future__ import annotations

import io
import random
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from fastwarc.stream_io import GzipWriter
from fastwarc.warc import WarcRecord, WarcRecordType
from isal import isal_zlib
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from sitecrawl.page.items import Exchange, PageItem
from sitecrawl.pagestore import WarcStore, record

PAGES = 1_000
HEADERS = [(b"Content-Type", b"text/html; charset=utf-8"), (b"Server", b"nginx"), (b"ETag", b'"5f3c"')]
REQUEST = [(b"User-Agent", b"benchmark"), (b"Accept", b"*/*")]
STATUS_LINE = b"HTTP/1.1 200 OK\r\n"


def made_pages() -> list[bytes]:
    random.seed(1)
    words = ["".join(random.choices("etaoinshrdlu", k=random.randint(2, 9))) for _ in range(3_000)]
    return [
        "".join(
            f'<p><a href="/{random.choice(words)}/{n}">{" ".join(random.choices(words, k=75))}</a></p>'
            for n in range(40)
        )[:19_000].encode()
        for _ in range(PAGES)
    ]


def pages(arguments: list[str]) -> list[bytes]:
    if not arguments:
        return made_pages()
    files = sorted(Path(arguments[0]).rglob("*.html"))
    return [path.read_bytes() for path in random.Random(1).sample(files, min(PAGES, len(files)))]


def exchanges(bodies: list[bytes]) -> list[Exchange]:
    return [Exchange(f"http://x.example/{n}", 1.8e9 + n, 0.1, 200, REQUEST, HEADERS, b) for n, b in enumerate(bodies)]


def ours(compress: Callable[[bytes], bytes], bodies: list[bytes]) -> int:
    size = 0
    for of in exchanges(bodies):
        data = record.response(of, record.new_record_id(), record.digest(of.body))
        size += len(compress(data))
    return size


def fastwarc(level: int, bodies: list[bytes]) -> int:
    out = io.BytesIO()
    writer = GzipWriter(out, compression_level=level)
    http = STATUS_LINE + b"".join(b"%b: %b\r\n" % pair for pair in HEADERS) + b"\r\n"
    for number, body in enumerate(bodies):
        one = WarcRecord()
        one.init_headers(record_type=WarcRecordType.response)
        one.headers["WARC-Target-URI"] = f"http://x.example/{number}"
        one.headers["Content-Type"] = "application/http; msgtype=response"
        one.set_bytes_content(http + body)
        one.write(writer, checksum_data=True)
        writer.finish()
    return out.tell()


def warcio(bodies: list[bytes]) -> int:
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version="1.1")
    for number, body in enumerate(bodies):
        headers = [(name.decode(), value.decode()) for name, value in HEADERS]
        http = StatusAndHeaders("200 OK", headers, protocol="HTTP/1.1")
        url = f"http://x.example/{number}"
        writer.write_record(writer.create_warc_record(url, "response", payload=io.BytesIO(body), http_headers=http))
    return out.tell()


def store(bodies: list[bytes], every: int = 500) -> int:
    """Request and response records, index row, and a checkpoint every 500 pages."""
    with tempfile.TemporaryDirectory() as name:
        whole = WarcStore(Path(name))
        for number, of in enumerate(exchanges(bodies), 1):
            facts = PageItem(of.url, 200, of.started, content_type="text/html", charset="utf-8", title="A title")
            whole.put(of, facts)
            if number % every == 0:
                whole.checkpoint()
        whole.checkpoint()
        whole.close()
        return sum(path.stat().st_size for path in (Path(name) / "warc").iterdir())


def measure(name: str, write: Callable[[list[bytes]], int], bodies: list[bytes]) -> None:
    best, size = float("inf"), 0
    for _ in range(3):
        started = time.process_time()
        size = write(bodies)
        best = min(best, time.process_time() - started)
    print(f"{name:<28} {best / len(bodies) * 1e6:8.0f} µs {size / len(bodies):10,.0f} B")


def main() -> None:
    bodies = pages(sys.argv[1:])
    print(f"{len(bodies)} pages of {sum(map(len, bodies)) / len(bodies):,.0f} bytes on average")
    measure("ours, no compression", lambda b: ours(bytes, b), bodies)
    for level in (1, 3, 6, 9):
        measure(f"ours, zlib {level}", lambda b, v=level: ours(lambda d: zlib.compress(d, v, 31), b), bodies)  # type: ignore[misc]
    for level in (0, 1, 2, 3):
        measure(f"ours, ISA-L {level}", lambda b, v=level: ours(lambda d: isal_zlib.compress(d, v, 31), b), bodies)  # type: ignore[misc]
    for level in (1, 2, 6, 9):
        measure(f"FastWARC, zlib-ng {level}", lambda b, v=level: fastwarc(v, b), bodies)  # type: ignore[misc]
    measure("warcio, zlib 9", warcio, bodies)
    measure("the whole store", store, bodies)


if __name__ == "__main__":
    main()
