"""Processes that read pages: what they say, and what becomes of a page on which one breaks."""

from __future__ import annotations

import gzip
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import brotli  # type: ignore[import-untyped]
import pytest
from localweb import linked
from waiting import until

from sitecrawl.base.errors import NoParser
from sitecrawl.page.codings import Damaged, TooLarge
from sitecrawl.page.links import PageOptions, text_digest
from sitecrawl.page.markup import TreeOptions
from sitecrawl.page.process_pool import PoolOptions, Quarantined
from sitecrawl.plugins.isolation.isolated_reading import _Parsers
from sitecrawl.plugins.isolation.worker import read

URL = "http://a.example/docs/x.html"
HTML = (b"Content-Type", b"text/html; charset=utf-8")
OPTIONS = PoolOptions(processes=1, seconds=60.0, memory=2 << 30)
PAGE = PageOptions(max_links=500)
SIZE = 1 << 20

Answers = Callable[..., _Parsers]


@pytest.fixture(scope="module")
def parsers() -> Iterator[_Parsers]:
    with closing(_Parsers(OPTIONS, PAGE)) as opened:
        yield opened


@pytest.fixture(scope="module")
def breaking() -> Iterator[_Parsers]:
    with closing(_Parsers(OPTIONS, PAGE, module="breaking_worker")) as opened:
        yield opened


PAGES = {
    "links": (linked("/b#x", "../c?q=1", "http://ö.example/", title="Grüße").encode(), [HTML]),
    "a header's link": (b"", [HTML, (b"Link", b'</n>; rel="next"; title="x"'), (b"X-Robots-Tag", b"noindex")]),
    "a charset": ("<a href='?ä'>ä</a>".encode("latin-1"), [(b"Content-Type", b"text/html; charset=latin1")]),
    "Shift JIS": ("<title>日</title><a href='?日'>".encode("cp932"), [(b"Content-Type", b"text/html;charset=sjis")]),
    "UTF-16": (("\ufeff" + linked("/x")).encode("utf-16le"), [HTML]),
    "a base": (b"<base href='http://b.example/d/'><a href=x rel=nofollow>1</a><a href=mailto:x>2</a>", [HTML]),
    "a canonical URL": (b"<link rel=canonical href=/y><meta name=robots content=nofollow>", [HTML]),
    "more than a tree holds": (linked(*map(str, range(400))).encode() * 9, [HTML]),
    "more links than are read": (linked(*map(str, range(600))).encode(), [HTML]),
    "no text": (b"\x89PNG\r\n\x1a\n" + bytes(100), [(b"Content-Type", b"image/png")]),
    "noise": (bytes(range(256)) * 64, [HTML]),
    "nothing but a type": (b"x", [(b"Content-Type", b"text/plain")]),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_the_answers_are_those_of_the_same_process(parsers: _Parsers, name: str) -> None:
    """What a worker says of a page is what `read` says of it here, limits included."""
    body, headers = PAGES[name]
    content = parsers.read(URL, body, headers, max_size=SIZE)
    assert content.reading == read(URL, body, headers, PAGE)
    assert content.body == body


@pytest.mark.parametrize(("coding", "pack"), [(b"gzip", gzip.compress), (b"br", brotli.compress)])
def test_a_content_coding_is_taken_off_there(
    parsers: _Parsers, coding: bytes, pack: Callable[[bytes], bytes]
) -> None:
    """The body comes back as it is without it, and what was read off it."""
    body = linked("/b").encode()
    content = parsers.read(URL, pack(body), [HTML, (b"content-encoding", coding)], max_size=SIZE)
    assert (content.body, content.codings) == (body, [])
    assert content.reading == read(URL, body, [HTML], PAGE)


def test_codings_that_are_not_known_are_left(parsers: _Parsers) -> None:
    """As Scrapy leaves them: the page has to be stored all the same."""
    content = parsers.read(URL, b"x", [(b"Content-Encoding", b"rot13")], max_size=SIZE)
    assert (content.body, content.codings) == (b"x", [b"rot13"])


def test_a_coding_around_nothing(parsers: _Parsers) -> None:
    """An empty page is empty, and not its gzip header."""
    content = parsers.read(URL, gzip.compress(b""), [HTML, (b"Content-Encoding", b"gzip")], max_size=SIZE)
    assert content.body == b""


def test_what_cannot_be_decoded(parsers: _Parsers) -> None:
    """A bomb and a lie are errors of the page, as they are here, and end no worker."""
    headers = [HTML, (b"Content-Encoding", b"gzip")]
    for body, error in ((gzip.compress(bytes(SIZE + 1)), TooLarge), (b"no gzip", Damaged)):
        with pytest.raises(error):
            parsers.read(URL, body, headers, max_size=SIZE)


def test_the_digest_of_a_text_is_the_same(parsers: _Parsers) -> None:
    """By which a page that is fetched again is compared."""
    body = "<p>Größe".encode("latin-1")
    expected = text_digest("text/html", "windows-1252", body, PAGE)
    assert parsers.text_digest("text/html", "windows-1252", body) == expected
    assert expected != text_digest("text/html", None, body, PAGE)
    assert expected != text_digest("text/plain", None, body, PAGE)


def test_options_hold_there() -> None:
    """How much of a page is read is said once, when a worker begins."""
    page = PageOptions(max_links=1, tree=TreeOptions(max_size=10))
    body = linked("/b", "/c").encode()
    with closing(_Parsers(PoolOptions(1, 60.0, 0), page)) as parsers:
        content = parsers.read(URL, body, [HTML], max_size=SIZE)
    assert content.reading == read(URL, body, [HTML], page)


@pytest.mark.parametrize(
    ("body", "reason"),
    [(b"segfault", "SIGSEGV"), (b"eat", "memory"), (b"exit", "exit 3"), (b"noise", "answer"), (b"swap", "answer")],
)
def test_a_page_that_breaks_its_reader(breaking: _Parsers, body: bytes, reason: str) -> None:
    """It is quarantined, with how the worker ended; the next page has a new worker."""
    with pytest.raises(Quarantined) as caught:
        breaking.read(URL, body, [HTML], max_size=SIZE)
    assert caught.value.reason == reason
    assert breaking.read(URL, linked("/b").encode(), [HTML], max_size=SIZE).reading is not None


def test_a_page_on_which_its_reader_hangs() -> None:
    """After its time the worker is killed; the next page has a new one, which is in time."""
    with closing(_Parsers(PoolOptions(1, 1.5, 2 << 30), PageOptions(), module="breaking_worker")) as parsers:
        with pytest.raises(Quarantined) as caught:
            parsers.read(URL, b"hang", [HTML], max_size=SIZE)
        assert caught.value.reason == "timeout"
        assert [worker._process.poll() for worker in parsers._all] == []
        assert parsers.text_digest("text/html", None, b"x")


def test_a_worker_that_is_killed_at_work(breaking: _Parsers) -> None:
    """Whoever kills it, its page is quarantined with the signal."""
    reasons = []

    def hang() -> None:
        with pytest.raises(Quarantined) as caught:
            breaking.read(URL, b"hang", [HTML], max_size=SIZE)
        reasons.append(caught.value.reason)

    breaking.read(URL, b"x", [HTML], max_size=SIZE)  # there is a worker
    (worker,) = breaking._all
    asking = threading.Thread(target=hang)
    asking.start()
    until(lambda: worker.is_asked, "the worker to be asked")
    os.kill(worker.pid, signal.SIGKILL)
    asking.join()
    assert reasons == ["SIGKILL"]


def test_a_worker_that_has_worked_long_has_a_successor(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that a page has taken over does not stay for ever."""
    monkeypatch.setattr("sitecrawl.page.process_pool._LIFETIME", 0.0)
    with closing(_Parsers(OPTIONS, PAGE)) as parsers:
        first = {worker.pid for worker in parsers._all}
        parsers.read(URL, b"x", [HTML], max_size=SIZE)
        assert not parsers._all
        parsers.read(URL, b"x", [HTML], max_size=SIZE)
        assert first.isdisjoint(worker.pid for worker in parsers._all)


def test_no_variable_of_the_crawl_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords are among them."""
    monkeypatch.setenv("REDIS_URL", "redis://:secret@a.example")
    with closing(_Parsers(OPTIONS, PAGE, module="telling_worker")) as parsers:
        assert not [told for told in parsers.fences if "secret" in told]
        assert any("PYTHONPATH" in told for told in parsers.fences)


def test_a_worker_that_does_not_start() -> None:
    """The crawl hears of it before it begins."""
    with pytest.raises(NoParser, match="SITECRAWL_PARSE_PROCESSES=0"):
        _Parsers(OPTIONS, PAGE, module="no_such_worker")


def test_nobody_is_left_when_the_crawl_is_over() -> None:
    """Workers end with it, and nothing is read any more."""
    parsers = _Parsers(OPTIONS, PAGE)
    (worker,) = parsers._all
    parsers.close()
    assert worker._process.poll() is not None
    with pytest.raises(NoParser):
        parsers.read(URL, b"x", [HTML], max_size=SIZE)
