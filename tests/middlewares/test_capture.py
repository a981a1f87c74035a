"""What comes over the wire, however strange, is stored as it came or counted; and a crawl survives a full disk."""

from __future__ import annotations

import gzip
import random
import re
import resource
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from email.utils import formatdate
from pathlib import Path

import pytest
from crawling import PROJECT, crawl, environment, scrapy_command
from localweb import Answer, LocalWeb, Page, linked
from waiting import PATIENCE

from middlewares.capture import retry_after
from sitecrawl.pagestore import PageFilter, PageReader

PROJECT_BIN = Path(sys.executable).parent
HTML = {"Content-Type": "text/html"}
UTF8 = {"Content-Type": "text/html; charset=utf-8"}
KLINGON = {"Content-Type": "text/html; charset=klingon"}
NOISE = random.Random(5).randbytes(60_000)
PNG = b"\x89PNG\r\n\x1a\n" + NOISE[:500]


def raw(head: str, body: bytes = b"") -> Answer:
    return Answer(raw=head.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body)


HOSTILE: dict[str, Page] = {
    "/long-links": linked(f"/{'x' * 10_000_000}", "/" + "y" * 9000, "/" + "z" * 7000),
    "/" + "z" * 7000: "page with a long URL",
    "/charset": Answer(b"<title>\xff\xfe\x81</title><a href='/\xff\xe9'>x</a>", 200, UTF8),
    "/%FF%E9": "page behind broken UTF-8",
    "/%EF%BF%BD%EF%BF%BD": "page behind broken UTF-8",
    "/no-such-charset": Answer(linked("/reached").encode("utf-16"), 200, KLINGON),
    "/png-as-html": Answer(PNG, 200, HTML),
    "/html-as-png": Answer(linked("/from-a-png").encode(), 200, {"Content-Type": "image/png"}),
    "/broken-gzip": Answer(gzip.compress(NOISE)[:20_000], 200, HTML | {"Content-Encoding": "gzip"}),
    "/no-gzip": Answer(b"plain", 200, HTML | {"Content-Encoding": "gzip"}),
    "/unknown-coding": Answer(b"plain", 200, HTML | {"Content-Encoding": "rot13, x"}),
    "/empty": Answer(b"", 200, HTML),
    "/no-content": Answer(b"", 204),
    "/no-type": Answer(linked("/from-no-type").encode(), 200),
    "/from-no-type": "page",
    "/cut-short": raw("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 1000", b"too short"),
    "/too-long": raw("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 3", b"longer than that"),
    "/bad-length": raw("HTTP/1.1 200 OK\nContent-Length: many", b"body"),
    "/header-junk": raw("HTTP/1.1 200 OK\nX: \x01\xff\nContent-Type: \xe9;;=;\nLink: <<>;;\nLocation: \x7f", b"ok"),
    "/no-header": raw("HTTP/1.1 200 OK\nno colon", b"ok"),
    "/header-flood": raw("HTTP/1.1 200 OK\n" + "X-Flood: 1\n" * 900 + "Content-Type: text/html", b"ok"),
    "/long-header": raw(f"HTTP/1.1 200 OK\nX-Long: {'x' * 500_000}\nContent-Type: text/html", b"ok"),
    "/no-http": Answer(raw=b"SSH-2.0-OpenSSH_9.6\r\n"),
    "/bad-redirect": Answer(b"", 302, {"Location": "http://[::1/"}),
    "/long-redirect": Answer(b"", 302, {"Location": "/" + "r" * 10_000}),
    "/status": raw("HTTP/1.1 999 Denied\nContent-Length: 2", b"no"),
    "/nesting": "<div>" * 50_000 + "<a href='/deep'>x</a>",
    "/deep": "page",
    "/robots.txt": Answer(status=404),
}  # fmt: skip
LINKED = [path for path in HOSTILE if path.isascii() and len(path) < 100 and path not in {"/robots.txt", "/deep"}]
LOST = {"/cut-short", "/bad-length", "/no-http", "/broken-gzip", "/long-header", "/no-header"}
"""What no HTTP client can make a page of."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, Counter[str]]:
    """A crawl of nothing but accidents: its directory, its log, and what the server was asked for."""
    jobdir = tmp_path_factory.mktemp("hostile") / "job"
    with LocalWeb({**HOSTILE, "/": linked(*LINKED)}) as web:
        done = crawl(web.root, jobdir, RETRY_TIMES=0, SITECRAWL_MAX_HOST_FAILURES=0, SITECRAWL_FAILURE_DELAY=0.01)
        assert done.returncode == 0, done.stderr
        return jobdir, done.stderr, Counter(web.paths())


def test_a_crawl_of_accidents_ends_well(hostile: tuple[Path, str, Counter[str]]) -> None:
    """No traceback, no error, no page asked for twice."""
    _, log, asked = hostile
    assert not re.search("Traceback|ERROR", log), log
    assert set(asked.values()) == {1}
    assert set(LINKED) <= asked.keys()


def test_what_can_be_a_page_is_stored(hostile: tuple[Path, str, Counter[str]]) -> None:
    """Each once, under its URL, whatever its headers say."""
    jobdir, _, _ = hostile
    with closing(sqlite3.connect(jobdir / "pages.sqlite")) as index:
        urls = Counter(
            "/" + url.split("/", 3)[3] for (url,) in index.execute("SELECT url FROM pages WHERE kind != 'robots'")
        )
    assert set(urls.values()) == {1}
    assert set(LINKED) - LOST <= urls.keys()
    assert {"/deep", "/from-no-type", "/" + "z" * 7000} <= urls.keys()


def test_urls_beyond_the_limit_are_not_followed(hostile: tuple[Path, str, Counter[str]]) -> None:
    """Ten million characters are no URL; seven thousand are."""
    _, _, asked = hostile
    assert max(map(len, asked)) == 7001


def test_the_archive_of_accidents_is_sound(hostile: tuple[Path, str, Counter[str]]) -> None:
    """A WARC reader gets through it, and every capture can be read back."""
    jobdir, _, _ = hostile
    files = [str(path) for path in (jobdir / "warc").iterdir()]
    done = subprocess.run([PROJECT_BIN / "warcio", "check", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    with PageReader(jobdir) as reader:
        bodies = {one.url.rpartition("/")[2]: reader.read(one).body for one in reader.pages(PageFilter())}
    assert bodies["png-as-html"] == PNG
    assert bodies["html-as-png"] == linked("/from-a-png").encode()


class TestFullDisk:
    """A disk with too little space, which is a limit on the size of files to whoever writes."""

    PAGES = 30

    @pytest.mark.parametrize("limit", [300_000, pytest.param(120_000, marks=pytest.mark.deep)])
    def test_a_crawl_stops_and_goes_on(self, tmp_path: Path, limit: int) -> None:
        """It says in a line what happened, and resumed with more space it has every page once, whole."""
        names = [f"/{number}" for number in range(self.PAGES)]
        bodies = {name: f"<title>{name}</title>".encode() + random.Random(name).randbytes(20_000) for name in names}
        with LocalWeb({"/": linked(*names), "/robots.txt": "", **bodies}) as web:
            code, log = self.limited(web.root, tmp_path / "job", limit)
            assert code == 1
            assert "Traceback" not in log
            assert re.search("File too large|too large|full", log), log
            before = self.stored(tmp_path / "job")
            done = crawl(web.root, tmp_path / "job")
            assert done.returncode == 0, done.stderr
        after = self.stored(tmp_path / "job")
        assert before.items() <= after.items()
        assert after.pop(f"{web.root}/") is not None
        assert after == {web.root + name: body for name, body in bodies.items()}

    @staticmethod
    def stored(jobdir: Path) -> dict[str, bytes]:
        if not (jobdir / "pages.sqlite").exists():
            return {}
        with PageReader(jobdir) as reader:
            captures = list(reader.pages(PageFilter(kind="page")))
            assert len({capture.url for capture in captures}) == len(captures)
            return {capture.url: reader.read(capture).body for capture in captures}

    @staticmethod
    def limited(seeds: str, jobdir: Path, limit: int) -> tuple[int, str]:
        settings = {"SITECRAWL_DELAY_FACTOR": 0, "JOBDIR": jobdir}
        done = subprocess.run(
            scrapy_command("crawl", "generic", "-a", f"seeds={seeds}", settings=settings),
            cwd=PROJECT,
            env=environment(),
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return done.returncode, done.stderr


class TestRetryAfter:
    """RFC 9110 §10.2.3."""

    @pytest.mark.parametrize(
        ("value", "seconds"),
        [(b"120", 120), (b" 7 ", 7), (b"", 0), (b"-5", 0), (b"soon", 0), (b"9" * 5000, 999999999), (b"\xb2", 0)],
    )
    def test_numbers(self, value: bytes, seconds: float) -> None:
        """Whole seconds; what is no number or date asks for nothing."""
        assert retry_after([(b"retry-after", value)], 0) == seconds

    def test_dates(self) -> None:
        """A date is so many seconds from now, and none if it is past."""
        now = time.time() // 1
        assert retry_after([(b"Retry-After", formatdate(now + 60, usegmt=True).encode())], now) == 60
        assert retry_after([(b"Retry-After", formatdate(now - 60, usegmt=True).encode())], now) == 0

    def test_without_the_header(self) -> None:
        """Nobody asked for anything."""
        assert retry_after([(b"Date", b"120")], 0) == 0
