"""Archives in one file."""

from __future__ import annotations

import gzip
import hashlib
import json
import zipfile
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from console import command
from pagestore_helpers import STARTED, exchange, page
from warcio.archiveiterator import ArchiveIterator

from sitecrawl.pagestore import WarcStore

HTML = [(b"Content-Type", b"text/html; charset=utf-8")]


def fill(directory: Path, *paths: str, body: bytes = b"<p>Text of the page") -> None:
    store = WarcStore(directory)
    for number, path in enumerate(paths):
        one = exchange(f"http://a.example/{path}", body + path[:1].encode(), headers=HTML, started=STARTED + number)
        store.put(one, page(one, title=f"Title {path}"))
    store.put(exchange("http://a.example/gone", b"", 404, started=STARTED), None)
    store.checkpoint()
    store.close()


@pytest.fixture(params=[["mine"], ["mine/worker-0", "mine/worker-1"]], ids=["one", "workers"])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> zipfile.ZipFile:
    """Of a crawl by one process, and by two workers whose files have the same names."""
    for number, name in enumerate(request.param):
        fill(tmp_path / "crawls" / name, f"b{number}", f"a{number}", f"bb{number}")
    done = command("export", "wacz", "-o", "mine.wacz", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["crawls", "mine.wacz"]
    return zipfile.ZipFile(BytesIO((tmp_path / "mine.wacz").read_bytes()))


def test_all_is_listed(archive: zipfile.ZipFile) -> None:
    """Each file is in datapackage.json with its length and SHA-256, and that has a digest itself."""
    package = json.loads(archive.read("datapackage.json"))
    assert (package["wacz_version"], package["profile"], package["title"]) == ("1.1.1", "data-package", "mine")
    listed = {one["path"]: one for one in package["resources"]}
    assert {*archive.namelist()} == {*listed, "datapackage.json", "datapackage-digest.json"}
    for path, one in listed.items():
        content = archive.read(path)
        assert (one["bytes"], one["hash"]) == (len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
        assert path.startswith("pages/") or path.endswith(".idx") or archive.getinfo(path).compress_type == 0
    digest = json.loads(archive.read("datapackage-digest.json"))
    assert digest["hash"] == f"sha256:{hashlib.sha256(archive.read('datapackage.json')).hexdigest()}"


def test_the_index_leads_to_records(archive: zipfile.ZipFile) -> None:
    """Its lines are sorted, each names the record of its URL, and each block begins as the second index says."""
    blocks = archive.read("indexes/index.cdx.gz")
    lines = gzip.decompress(blocks).decode().splitlines()
    assert lines == sorted(lines)
    assert len(lines) in {4, 8}
    for line in lines:
        said = json.loads(line.split(" ", 2)[2])
        start = int(said["offset"])
        member = archive.read(f"archive/{said['filename']}")[start : start + int(said["length"])]
        record = next(iter(ArchiveIterator(BytesIO(member))))
        assert record.rec_headers["WARC-Target-URI"] == said["url"]
        assert record.rec_headers["WARC-Payload-Digest"] == said["digest"]
        assert (said["mime"] == "warc/revisit") == (record.rec_type == "revisit")
    meta, first = archive.read("indexes/index.idx").decode().splitlines()
    assert json.loads(meta.removeprefix("!meta 0 ")) == {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
    place = json.loads(first.split(" ", 2)[2])
    assert lines[0].startswith(first.partition(" {")[0])
    assert (place["offset"], place["length"]) == (0, len(blocks))


def test_pages(archive: zipfile.ZipFile) -> None:
    """The list has a header, and each page with title and text."""
    header, *pages = map(json.loads, archive.read("pages/pages.jsonl").decode().splitlines())
    assert header == {"format": "json-pages-1.0", "id": "pages", "title": "mine", "hasText": True}
    assert len(pages) in {3, 6}
    assert len({one["id"] for one in pages}) == len(pages)
    assert pages[0] == {
        "id": "page-1", "url": "http://a.example/b0", "ts": "2027-01-15T08:00:00Z", "title": "Title b0",
        "text": "Text of the pageb",
    }  # fmt: skip


def test_what_was_posted(tmp_path: Path) -> None:
    """Two answers of one address, to two bodies, stand in the index under different keys; one to HEAD under none."""
    store = WarcStore(tmp_path / "crawls" / "mine")
    sent = ((b'{"page": 1}', "POST"), (b"", "HEAD"), (b'{"page": 2}', "POST"), (b"", "GET"))
    for number, (body, method) in enumerate(sent):
        one = exchange("http://a.example/data", b"%d" % number, method=method, request_body=body)
        typed = [*one.request_headers, (b"Content-Type", b"application/json")]
        store.put(replace(one, request_headers=typed), None)
    store.checkpoint()
    store.close()
    assert command("export", "wacz", "-o", "mine.wacz", cwd=tmp_path).returncode == 0
    lines = (
        gzip.decompress(zipfile.ZipFile(tmp_path / "mine.wacz").read("indexes/index.cdx.gz")).decode().splitlines()
    )
    keys = [line.partition(" ")[0] for line in lines]
    assert keys == ["example,a)/data", *(f"example,a)/data?__wb_method=post&page={n}" for n in (1, 2))]
    said = [json.loads(line.split(" ", 2)[2]) for line in lines]
    assert [(one.get("method"), one.get("requestBody")) for one in said[1:]] == [
        ("POST", "page=1"),
        ("POST", "page=2"),
    ]
    assert {one["url"] for one in said} == {"http://a.example/data"}


def test_a_file_that_is_cut(tmp_path: Path) -> None:
    """A crawl whose WARC files lack what the index has gives no archive."""
    fill(tmp_path / "crawls" / "mine", "a")
    (file,) = (tmp_path / "crawls" / "mine" / "warc").iterdir()
    file.write_bytes(file.read_bytes()[:-10])
    done = command("export", "wacz", "-o", "mine.wacz", cwd=tmp_path)
    assert done.returncode == 1
    assert "shorter than its index" in done.stderr
    assert not (tmp_path / "mine.wacz").exists()
