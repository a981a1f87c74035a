"""`scrapy page` and `scrapy pages`, run as a user runs them."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest
from crawling import forked
from pagestore_helpers import STARTED, exchange, page

from sitecrawl.pagestore import WarcStore

PROJECT = Path(__file__).parents[2]
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
    """A table by default, with hostile titles made harmless; filters and formats as asked."""
    table = scrapy("pages", cwd=crawls).stdout.decode()
    assert "Evil \\x1b[2J title" in table
    assert len(table.splitlines()) == 4
    urls = scrapy("pages", "--status", "404", "--format", "urls", cwd=crawls).stdout
    assert urls == b"http://site.example/gone\n"
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
