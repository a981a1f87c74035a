"""`scrapy export`, as docs/export.md says it."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import subprocess
import zipfile
from pathlib import Path

import duckdb
import pytest
from console import command
from crawling import PROJECT, environment, scrapy_command
from documents import docx_of, pdf_of, zip_of
from pagestore_helpers import STARTED, exchange, page
from waiting import until

from sitecrawl.page.links import read_page
from sitecrawl.pagestore import WarcStore

DOCUMENT = (PROJECT / "docs" / "export.md").read_text()
COMMANDS = re.findall(r"^scrapy (?!crawl )(.*)$", DOCUMENT, re.MULTILINE)
QUERIES = [query for block in re.findall(r"```sql\n(.*?)```", DOCUMENT, re.DOTALL) for query in block.split(";\n")]
HTML = [(b"Content-Type", b"text/html; charset=utf-8")]

OCTETS = [(b"Content-Type", b"application/octet-stream")]


@pytest.fixture
def crawls(tmp_path: Path) -> Path:
    """A working directory with a crawl below `crawls/`."""
    store = WarcStore(tmp_path / "crawls" / "mine")
    for number in range(3):
        body = (
            f"<html lang=en><title>=Page {number}</title><p>Words of {number} <a href=/{number + 1}>on</a>".encode()
        )
        one = exchange(f"http://example.com/{number}", body, headers=HTML, started=STARTED + number)
        read = read_page(one.url, one.body, one.headers)
        store.put(one, page(one, title=read.title, language=read.language, links=read.links))
    store.put(exchange("http://example.com/gone", b"", 404), None)
    store.checkpoint()
    store.close()
    return tmp_path


def exported(crawls: Path, *words: str) -> list[str]:
    done = command("export", *words, cwd=crawls)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_the_document(crawls: Path) -> None:
    """All commands that read a crawl can be given one after the other, and the queries asked of what they write."""
    assert len(COMMANDS) > 3
    for line in COMMANDS:
        words, _, into = line.partition(" > ")
        done = command(*shlex.split(words), cwd=crawls)
        assert done.returncode == 0, (words, done.stderr)
        if into:
            (crawls / into).write_text(done.stdout)
    with duckdb.connect() as database:
        for query in filter(str.strip, QUERIES):
            text = re.sub(r"'([\w./-]+\.(?:parquet|jsonl|csv))'", rf"'{crawls}/\1'", query)
            assert database.sql(text).fetchall()
    first = json.loads((crawls / "pages.jsonl").read_text().partition("\n")[0])
    assert first["text"] == "Words of 0 on"
    assert "example.com/0,'=Page 0,en\n" in (crawls / "pages.csv").read_text()


def test_what_goes_where(crawls: Path) -> None:
    """JSON lines to stdout, filtered; what was exported since last comes once."""
    assert len(exported(crawls)) == 3
    assert [json.loads(line) for line in exported(crawls, "--kind", "error", "--fields", "url,status")] == [
        {"url": "http://example.com/gone", "status": 404}
    ]
    since = ("--since", "last", "--format", "csv", "--fields", "url")
    assert len(exported(crawls, *since)) == 4
    again = command("export", *since, cwd=crawls)
    assert (again.returncode, again.stdout) == (0, "url\n")
    assert again.stderr == "scrapy: nothing new: the store holds 4 captures (3 page, 1 error)\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-o", "pages.xls"], "end the file's name"),
        (["--format", "parquet"], "name one with -o"),
        (["--fields", "titel"], "is title meant"),
        (["--since", "last", "--limit", "1"], "leave out"),
        (["--since", "never"], "is no time"),
        (["nothing"], "name one of"),
    ],
)
def test_what_makes_no_sense(crawls: Path, words: list[str], said: str) -> None:
    """Is refused, with exit code 2."""
    done = command("export", *words, cwd=crawls)
    assert done.returncode == 2
    assert said in done.stdout + done.stderr


def test_where_it_cannot_write(crawls: Path) -> None:
    """One line on stderr, and exit code 1."""
    done = command("export", "-o", "no/such/folder.csv", cwd=crawls)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "cannot be used" in done.stderr


@pytest.mark.deep
def test_a_kill_leaves_no_half_file(crawls: Path) -> None:
    """What a killed export was to replace is as it was."""
    old, fifo = crawls / "pages.jsonl", crawls / "pages.jsonl.new"
    old.write_text("old\n")
    store = WarcStore(crawls / "crawls" / "mine")
    long = exchange("http://example.com/long", b"<p>" + b"word " * 100_000, headers=HTML, started=STARTED)
    store.put(long, page(long))
    store.checkpoint()
    store.close()
    os.mkfifo(fifo)  # the export waits here for somebody to read its draft
    words = scrapy_command("export", "-o", "pages.jsonl")
    env = environment(SCRAPY_SETTINGS_MODULE="sitecrawl.settings", PYTHONPATH=str(PROJECT))
    draft = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen(words, cwd=crawls, env=env) as process:
        until(lambda: select.select([draft], [], [], 0)[0] or process.poll(), "the draft")
        until(lambda: os.read(draft, 1), "its first byte")
        assert process.poll() is None
        process.kill()
    os.close(draft)
    assert old.read_text() == "old\n"


def test_documents(crawls: Path) -> None:
    """Tables, searches and archives have their texts; what has none is counted on stderr, and stops nothing."""
    store = WarcStore(crawls / "crawls" / "mine")
    bodies = {
        "a.pdf": pdf_of("words of a report", title="Report"), "b.docx": docx_of("words of a letter"),
        "c.pdf": b"%PDF-1.7 damaged", "d.docx": zip_of({"[Content_Types].xml": "<!DOCTYPE x><x/>"}),
    }  # fmt: skip
    for name, body in bodies.items():
        one = exchange(f"http://example.com/{name}", body, headers=OCTETS, started=STARTED + 60)
        store.put(one, read_page(one.url, one.body, one.headers))
    store.checkpoint()
    store.close()
    words = ["--type", "application", "--fields", "url,title,text,pages"]
    lacking = "scrapy: 2 documents have no text: 2 damaged\n"
    done = command("export", *words, cwd=crawls)
    assert (done.returncode, done.stderr) == (0, lacking)
    rows = {row.pop("url")[19:]: list(row.values()) for row in map(json.loads, done.stdout.splitlines())}
    assert rows == {
        "a.pdf": ["Report", "words of a report", 1], "b.docx": [None, "words of a letter", 1],
        "c.pdf": [None, None, None], "d.docx": [None, None, None],
    }  # fmt: skip
    done = command("search", "words", "report", "--format", "urls", cwd=crawls)
    assert (done.stdout, done.stderr) == ("http://example.com/a.pdf\n", lacking)
    done = command("export", "wacz", "-o", "crawl.wacz", cwd=crawls)
    assert lacking in done.stderr
    with zipfile.ZipFile(crawls / "crawl.wacz") as archive:
        _, *listed = map(json.loads, archive.read("pages/pages.jsonl").splitlines())
    assert [(one["title"], one["text"]) for one in listed[3:]] == [
        ("Report", "words of a report"), ("http://example.com/b.docx", "words of a letter"),
    ]  # fmt: skip


def test_one_row_for_each_content(crawls: Path) -> None:
    """Pages with the title and text of an earlier one are left out, and what has no text by its bytes."""
    store = WarcStore(crawls / "crawls" / "mine")
    for number, (body, kind) in enumerate(
        [
            (b"<title>=Page 0</title><p>Words   of 0 <a href=/else>on</a><!-- other -->", "text/html"),
            (b"<title>Other</title><p>Words of 0 on", "text/html"),
            (b"\x89PNG\r\n\x1a\n", "image/png"),
            (b"\x89PNG\r\n\x1a\n", "image/png"),
        ]
    ):
        one = exchange(
            f"http://example.com/x{number}", body, headers=[(b"Content-Type", kind.encode())], started=STARTED + 9
        )
        read = read_page(one.url, one.body, one.headers)
        store.put(one, page(one, title=read.title, charset=read.charset, content_type=kind))
    store.checkpoint()
    store.close()
    lines = exported(crawls, "--unique", "--fields", "url")
    assert [json.loads(line)["url"].rpartition("/")[2] for line in lines] == ["0", "1", "2", "x1", "x2"]
    assert len(exported(crawls, "--unique", "--limit", "4")) == 4
    done = command("export", "--unique", "-o", "unique.csv", cwd=crawls)
    assert done.stderr == "5 pages (2 that say what another one says are not) are in unique.csv\n"


def test_chunks(crawls: Path) -> None:
    """A row for each part of a page, in any format."""
    rows = [json.loads(line) for line in exported(crawls, "--chunks")]
    assert rows[1] == {
        "url": "http://example.com/1", "title": "=Page 1", "headings": [], "text": "Words of 1 [on](http://example.com/2)",
        "position": 0, "words": 4,
    }  # fmt: skip
    done = command("export", "--chunks", "20", "-o", "chunks.parquet", "--limit", "1", cwd=crawls)
    assert done.stderr == "1 chunk of 1 page are in chunks.parquet\n"
    for words in (["--chunks", "5"], ["--chunks", "--fields", "url"], ["wacz", "-o", "x.wacz", "--chunks"]):
        assert command("export", *words, cwd=crawls).returncode == 2
