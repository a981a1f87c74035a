"""`scrapy page` and `scrapy pages`, run as a user runs them."""

from __future__ import annotations

import os
import pty
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from crawling import forked
from crawling import scrapy as crawl_scrapy
from localweb import LocalWeb, linked
from pagestore_helpers import STARTED, exchange, page

from sitecrawl.base.errors import OptionError
from sitecrawl.console.commands.page import _curl
from sitecrawl.pagestore import WarcStore
from sitecrawl.pagestore.record import MASK, HttpMessage

PROJECT = Path(__file__).parents[3]
ENVIRONMENT = {**os.environ, "SCRAPY_SETTINGS_MODULE": "sitecrawl.settings", "PYTHONPATH": str(PROJECT)}
BODY = b"\x00\xff exact bytes \r\n\x1b[31mred"


@pytest.fixture
def crawls(tmp_path):
    """A working directory with two crawls below `crawls/`, the second of which is the newest."""
    for number, name in enumerate(["generic-1", "generic-2"]):
        directory = tmp_path / "crawls" / name
        store = WarcStore(directory)
        for body, started in ((b"first", STARTED), (BODY, STARTED + 60)):
            of = exchange(
                "http://site.example/", body + b"%d" % number, started=started, headers=[(b"X", b"\x1b[2J")]
            )
            store.put(of, page(of, title="Evil \x1b[2J title"))
        store.put(exchange("http://site.example/gone", b"gone", 404))
        store.put(exchange("http://site.example/robots.txt", b"none", 404))
        store.checkpoint()
        store.close()
        later = time.time() + number
        os.utime(directory, (later, later))
    (tmp_path / "crawls" / "unfinished").mkdir()
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "scrapy", *arguments]


def scrapy(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    return forked(*arguments, env=ENVIRONMENT, cwd=cwd)


def test_the_page_goes_to_a_pipe_byte_for_byte(crawls):
    """What is redirected into a file is the stored body, of the newest crawl and the newest version."""
    done = scrapy("page", "site.example", cwd=crawls)
    assert (done.returncode, done.stdout, done.stderr) == (0, BODY + b"1", b"")


def test_a_directory_can_be_named(crawls):
    """-d reads another crawl than the newest."""
    assert scrapy("page", "-d", "crawls/generic-1", "site.example", cwd=crawls).stdout == BODY + b"0"


def test_headers_come_first_and_harmless(crawls):
    """--headers prints status line and headers with control characters written out."""
    done = scrapy("page", "--headers", "http://site.example/", cwd=crawls)
    assert done.stdout == b"HTTP/1.1 200 OK\nX: \\x1b[2J\n\n" + BODY + b"1"


def test_all_versions_are_listed(crawls):
    """--all gives a line a version, newest first."""
    lines = scrapy("page", "--all", "site.example", cwd=crawls).stdout.decode().splitlines()
    assert [line[:19] for line in lines] == ["2027-01-15 08:01:00", "2027-01-15 08:00:00"]


@pytest.mark.deep
def test_a_terminal_gets_no_control_characters(crawls):
    """On a terminal the body's escapes are written out."""
    ours, its = pty.openpty()
    subprocess.run(command("page", "site.example"), cwd=crawls, env=ENVIRONMENT, stdout=its, check=True)
    shown = os.read(ours, 10_000)
    os.close(ours)
    os.close(its)
    assert shown == rb"\x00\xff exact bytes " + b"\r\n" + rb"\x1b[31mred1" + b"\r\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["page", "unknown.example"], b"unknown.example is not stored in crawls/generic-2"),
        (["page", "-d", "nowhere", "site.example"], b"nowhere holds no stored pages"),
        (["pages", "-d", "crawls/unfinished"], b"holds no stored pages"),
        (["pages", "-d", "x" * 300], b"File name too long"),
    ],
)
def test_nothing_to_show_is_one_line_and_an_exit_code(crawls, arguments, message):
    """What is not there is said on stderr, in one line."""
    done = scrapy(*arguments, cwd=crawls)
    assert (done.returncode, done.stdout) == (1, b"")
    assert message in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_no_crawl_at_all(tmp_path):
    """Without a crawl the user is told where one was looked for."""
    done = scrapy("pages", cwd=tmp_path)
    assert done.returncode == 1
    assert b"there is no crawl below" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["page"], ["page", "a", "b"], ["pages", "extra"], ["pages", "--since", "never"], ["pages", "--kind", "x"]],
)
def test_wrong_usage_is_refused(crawls, arguments):
    """Arguments that make no sense end with exit code 2."""
    assert scrapy(*arguments, cwd=crawls).returncode == 2


def test_pages_are_listed_and_filtered(crawls):
    """A table by default, with hostile titles made harmless, and without robots.txt; filters and formats as asked."""
    table = scrapy("pages", cwd=crawls).stdout.decode()
    assert "Evil \\x1b[2J title" in table
    assert len(table.splitlines()) == 4
    urls = scrapy("pages", "--status", "404", "--format", "urls", cwd=crawls).stdout
    assert urls == b"http://site.example/gone\n"
    assert scrapy("pages", "--kind", "robots", cwd=crawls).stdout.count(b"\n") == 2
    found = scrapy("pages", "--kind", "page", "--host", "SITE.example", "--limit", "1", "--format", "csv", cwd=crawls)
    assert found.stdout.count(b"\n") == 2


@pytest.mark.deep
def test_a_reader_that_has_enough(crawls):
    """`scrapy pages | head` ends without a complaint."""
    store = WarcStore(crawls / "crawls" / "many")
    for number in range(3_000):
        store.put(exchange(f"http://site.example/{number}", b""))
    store.checkpoint()
    store.close()
    pages = command("pages", "-d", "crawls/many", "--format", "jsonl")
    pipe = subprocess.PIPE
    with subprocess.Popen(pages, cwd=crawls, env=ENVIRONMENT, stdout=pipe, stderr=pipe) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.fixture(scope="module")
def web():
    site = {"/": linked("/about", title="front"), "/about": "<p>one</p>"}
    with LocalWeb(site) as served:
        yield served


@pytest.fixture(scope="module")
def crawled(web, tmp_path_factory):
    job = tmp_path_factory.mktemp("traffic") / "job"
    settings = {"JOBDIR": job, "SITECRAWL_DELAY_FACTOR": 0}
    done = crawl_scrapy("crawl", "generic", "-a", f"seeds={web.root}", settings=settings)
    assert done.returncode == 0, done.stderr
    return job


class TestTraffic:
    """The exchange of a page that a real crawl has fetched."""

    def page(self, job: Path, *words: str) -> str:
        done = scrapy("page", "-d", str(job), *words, cwd=job.parent)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def test_exchange(self, web, crawled):
        """The request as sent, then the answer as received."""
        told = self.page(crawled, "--exchange", f"{web.root}/about")
        sent, received, body = told.split("\n\n")
        assert sent.startswith("GET /about HTTP/1.1\nHost: 127.0.0.1")
        assert "User-Agent: " in sent
        assert received.startswith("HTTP/1.")
        assert body == "<p>one</p>\n"

    @pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
    def test_curl(self, web, crawled):
        """The command sends the same request again."""
        command_line = self.page(crawled, "--curl", f"{web.root}/about")
        before = [hit for hit in web.hits if hit.path == "/about"][-1]
        done = subprocess.run(shlex.split(command_line), capture_output=True, check=True)
        assert done.stdout.endswith(b"<p>one</p>")
        after = web.hits[-1]
        assert (after.method, after.path) == (before.method, before.path)
        mine = ("user-agent", "accept", "accept-language", "accept-encoding", "host")
        for name in mine:
            assert after.headers.get(name) == before.headers.get(name)


def test_a_body_in_a_command():
    """Quotes hold, masked headers are left out, and what is binary is refused."""
    headers = [(b"Host", b"a"), (b"Cookie", MASK), (b"X", b"it's"), (b"Content-Length", b"3")]
    words = shlex.split(_curl("http://a/?q='", HttpMessage(b"POST /?q=' HTTP/1.1", headers, b"a'b")))
    assert words[words.index("--request") :] == [
        "--request", "POST", "--header", "Host: a", "--header", "X: it's", "--data-raw", "a'b", "http://a/?q='",
    ]  # fmt: skip
    with pytest.raises(OptionError, match="binary"):
        _curl("http://a/", HttpMessage(b"POST / HTTP/1.1", headers, b"\xff"))
