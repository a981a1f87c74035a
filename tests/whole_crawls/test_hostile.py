"""Hosts that do everything wrong, all at once, and a good site beside them."""

from __future__ import annotations

import gzip
import re
import socket
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import hostileweb as hostile
import pytest
import small_limits
from crawling import HELPERS, PROJECT, environment, states_of, stats_of, with_settings
from crawling import crawl as generic
from hostileweb import HostileWeb, Trick, head, linking, moved, only_page, pages, whole
from localweb import Answer, LocalWeb, Page, linked
from ports import held_port
from waiting import FOREVER, until

from sitecrawl.base import limits
from sitecrawl.base.limits import (
    EXTRACT_SIZE,
    EXTRACT_TIME,
    LIMITS,
    REGEX_TIME,
    SITEMAP_ENTRIES,
    SITEMAP_SIZE,
    AnyLimit,
)
from sitecrawl.frontier.urls.record import UrlState

GOOD = [f"/page-{number}" for number in range(30)]
VICTIM = "127.0.0.99"
"""An address that nobody has named. A server listens there that is never to hear anything."""
SETTINGS = {
    "DOWNLOAD_MAXSIZE": 16 << 20,
    "REDIRECT_MAX_TIMES": 5,
    "RETRY_TIMES": 1,
    "SITECRAWL_DELAY_FACTOR": 0,
    "SITECRAWL_FAILURE_DELAY": 0.05,
    "SITECRAWL_MAX_DELAY": 0.1,
    "SITECRAWL_MAX_RETRY_AFTER": 0.1,
    "LOG_LEVEL": "INFO",
    "STATS_DUMP": True,
}
SMALL = "import os, small_limits; small_limits.arm(os.environ); from scrapy.cmdline import execute; execute()"
"""A `scrapy` of few links a page: a process of its own, as its memory is measured."""
PATIENT = {"DOWNLOAD_TIMEOUT": FOREVER, "SITECRAWL_MAX_IDLE_TIME": FOREVER}
"""Where nothing is to be cut off for the time that it takes: a busy machine may be slow."""
IMPATIENT = {"DOWNLOAD_TIMEOUT": 4, "SITECRAWL_MAX_IDLE_TIME": 1}
QUIET = (
    "a byte now and then",
    "a header byte now and then",
    "silent in the body",
    "silent from the start",
)
"""Hosts that nothing but time cuts off."""
MAX_MEMORY = 500 << 20
"""Bytes of the whole process. It has 200 MB when nothing has come, and what is offered has no end."""


def tricks(port: int) -> dict[str, Trick | bytes]:
    """What the hosts do, each at an address of its own; `port` is that of all."""
    elsewhere = f"http://{VICTIM}:{port}"
    return {
        "endless body": only_page(hostile.forever(head(), hostile.CHUNK)),
        "endless chunks": only_page(hostile.forever(head("Transfer-Encoding: chunked"), hostile.CHUNKED)),
        "endless little chunks": only_page(hostile.forever(head("Transfer-Encoding: chunked"), b"1\r\nx\r\n" * 2000)),
        "endless extension": only_page(hostile.forever(head("Transfer-Encoding: chunked") + b"5;x=", hostile.CHUNK)),
        "endless trailer": only_page(
            hostile.forever(head("Transfer-Encoding: chunked") + b"5\r\nhello\r\n0\r\nX: ", hostile.CHUNK)),
        "a terabyte announced": only_page(head("Content-Length: 1000000000000") + b"x"),
        "bombs": hostile.bombs(),
        "a byte now and then": only_page(hostile.forever(head(), b"x", pause=0.2)),
        "a header byte now and then": only_page(hostile.forever(b"HTTP/1.1 200 OK\r\nX: ", b"x", pause=0.2)),
        "silent in the body": only_page(hostile.then_silent(head("Content-Length: 100") + b"half")),
        "silent from the start": hostile.silent,
        "endless headers": only_page(hostile.forever(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 100)),
        "endless header": only_page(hostile.forever(b"HTTP/1.1 200 OK\r\nX: ", hostile.CHUNK)),
        "endless folded header": only_page(hostile.forever(b"HTTP/1.1 200 OK\r\nX: y\r\n", b" yyy\r\n" * 100)),
        "endless hints": only_page(hostile.forever(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 10)),
        "endless redirects": only_page(hostile.chain),
        "large redirects": only_page(hostile.large_chain),
        "redirect loop": only_page(moved("/")),
        "to loopback": pages({
            "/": linking(f"{elsewhere}/", f"{elsewhere}/a", f"http://2130706531:{port}/", f"http://0x7f.0x63:{port}/",
                         f"http://[::ffff:{VICTIM}]:{port}/", f"http://localhost:{port}/", "/a"),
            "/a": moved(f"{elsewhere}/redirected"),
        }),
        "robots.txt to loopback": pages({"/robots.txt": moved(f"{elsewhere}/robots.txt"), "/": linking("/x")}),
        "to a file": only_page(moved("file:///etc/passwd")),
        "deep": only_page(whole(b"<div>" * 100_000 + b"<a href=/deep>x</a>")),
        "a long page": only_page(whole(b"word " * 300_000 + b"<a href=/beyond>x</a>")),
        "empty lines": only_page(whole(b"<a href=/first>x</a>" + b"\n" * 700_000 + b"<a href=/beyond>x</a>")),
        "made anew": only_page(whole(b"<p>" + b"".join(b"<b id=%d>" % i for i in range(2000)) + b"<p>x" * 2000)),
        "a million links": pages({"/": hostile.million_links()}),
        "long URLs": pages({"/": linking("/" + "l" * 100_000, "/moved"), "/moved": moved("/" + "r" * 100_000)}),
        "endless robots.txt": pages({
            "/robots.txt": hostile.forever(
                head(content_type="text/plain") + b"User-agent: *\nDisallow: /secret\n", b"# padding\n" * 5000),
            "/": linking("/secret", "/open"),
            "/open": whole(b"open"),
        }),
        "a giant robots.txt": pages({
            "/robots.txt": hostile.forever(
                head("Content-Length: 100000000") + b"User-agent: *\nDisallow: /secret\n", b"# padding\n" * 5000),
            "/": linking("/secret", "/open"),
        }),
        "a robots.txt for everyone": pages({"/robots.txt": hostile.many_agents(), "/": linking("/secret", "/open")}),
        "bomb for a robots.txt": pages({
            "/robots.txt": whole(hostile.bomb("gzip"), "Content-Encoding: gzip"), "/": linking("/x")}),
        "a crawl delay of a day": pages({
            "/robots.txt": whole(b"User-agent: *\nCrawl-delay: 86400\n"), "/": linking("/x")}),
        "later, in a day": only_page(whole(b"", "Retry-After: 86400", status="503 Busy")),
        "reset": only_page(hostile.reset),
        "half a body": only_page(head("Content-Length: 100") + b"half"),
        "a body too long": only_page(head("Content-Length: 3") + b"too much"),
        "two lengths": only_page(head("Content-Length: 3", "Content-Length: 4") + b"four"),
        "a negative length": only_page(head("Content-Length: -1") + b"x"),
        "a broken chunk": only_page(head("Transfer-Encoding: chunked") + b"ZZ\r\nx\r\n"),
        "no HTTP": only_page(b"220 ESMTP\r\n"),
        "closed": only_page(b""),
    }  # fmt: skip


@dataclass
class Crawl:
    """How a crawl of the hosts that are quiet ended, and one of all others; each has the good site."""

    codes: list[int]
    logs: list[str]
    memory: int
    stats: dict[str, int]
    states: dict[str, UrlState]
    """By URL."""
    pages: list[Counter[str]]
    """Of the good site, by path."""
    victim: int
    """Connections to an address that no seed names."""


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    good = {"/": linked(*GOOD), **{path: linked("/", title=path) for path in GOOD}}
    with ExitStack() as stack:
        site = stack.enter_context(LocalWeb(good))
        victim = stack.enter_context(HostileWeb(pages({}), VICTIM, site.port))
        refused = stack.enter_context(held_port())
        webs = {}
        for number, (name, trick) in enumerate(tricks(site.port).items(), 100):
            assert callable(trick)
            webs[name] = stack.enter_context(HostileWeb(trick, f"127.0.0.{number}", site.port)).root
        tls = stack.enter_context(HostileWeb(lambda connection, path: connection.sendall(b"no TLS"), "127.0.0.90"))
        stuck = stack.enter_context(HostileWeb(hostile.silent, "127.0.0.91"))
        secure = {name: web.root.replace("http:", "https:") for name, web in (("tls", tls), ("stuck", stuck))}
        quiet = [*(webs.pop(name) for name in QUIET), secure["stuck"]]
        others = [*webs.values(), secure["tls"], f"http://127.0.0.92:{refused}", "gone.invalid"]
        runs = [
            run([site.root, *seeds], tmp_path_factory.mktemp("hostile"), {**SETTINGS, **settings})
            for seeds, settings in ((quiet, IMPATIENT), (others, PATIENT))
        ]
        yield Crawl(
            [run.code for run in runs],
            [run.log for run in runs],
            max(run.memory for run in runs),
            sum((Counter(stats_of(run.log)) for run in runs), Counter()),
            {url: state for run in runs for url, state in states_of(run.directory / "job").items()},
            [good_pages(run.directory, site.root) for run in runs],
            victim.connections,
        )


class Run(NamedTuple):
    """A crawl of some of them."""

    directory: Path
    log: str
    code: int
    memory: int
    """The most that the process ever had, in bytes."""


def run(seeds: list[str], directory: Path, settings: Mapping[str, object]) -> Run:
    words = ("crawl", "generic", "-a", f"seeds={' '.join(seeds)}", "-a", "scope=any")
    command = [
        sys.executable,
        "-c",
        SMALL,
        *with_settings(*words, settings={**settings, "JOBDIR": directory / "job"}),
    ]
    env = environment(PYTHONPATH=str(HELPERS), **small_limits.as_variable({"LINKS": 200}))
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=PROJECT, env=env, stdout=log, stderr=log)
        memory = 0

        def has_ended() -> bool:
            nonlocal memory
            memory = max(memory, peak_of(process.pid))
            return process.poll() is not None

        until(has_ended, "the end of the crawl")
    return Run(directory, (directory / "log").read_text(), process.returncode, memory)


def peak_of(pid: int) -> int:
    """The most memory that the program of a process has held, in bytes: `ru_maxrss` begins with its parent's."""
    status = Path(f"/proc/{pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(peak[1]) << 10 if peak else 0  # it has ended


def good_pages(directory: Path, root: str) -> Counter[str]:
    with closing(sqlite3.connect(directory / "job" / "pages.sqlite")) as index:
        urls = index.execute("SELECT url FROM pages WHERE kind = 'page' AND url LIKE ?", (f"{root}/%",))
        return Counter(url.removeprefix(root) for (url,) in urls)


def test_the_good_site_is_complete(crawl: Crawl) -> None:
    """Every page of it is stored once, and the crawl ends by itself without an error of the program."""
    assert crawl.codes == [0, 0], crawl.logs
    assert crawl.pages == [dict.fromkeys(["/", *GOOD], 1)] * 2
    for log in crawl.logs:
        assert "'finish_reason': 'finished'" in log
        assert not re.search(r"\] (ERROR|CRITICAL):", log)


def test_nothing_is_left(crawl: Crawl) -> None:
    """Every URL that any host brought has been fetched, has failed or is excluded."""
    assert UrlState.QUEUED not in crawl.states.values()


ELSEWHERE = (
    SITEMAP_ENTRIES,
    SITEMAP_SIZE,
    EXTRACT_SIZE,
    EXTRACT_TIME,
    REGEX_TIME,
    limits.ROBOTS_RULES,
    limits.ROBOTS_WORK,
    limits.COOKIES,
    limits.RATE,
    limits.FTP_ENTRIES,
    limits.REQUISITES,
    limits.READ_SIZE,
    limits.RENDER_TIME,
    limits.RENDER_REQUESTS,
    limits.RENDER_SIZE,
    limits.RENDER_MEMORY,
    limits.PARSE_TIME,
    limits.PARSE_MEMORY,
)
"""Limits of what this crawl does not do: `test_a_sitemap_without_end`, `test_too_many_rules_of_a_robots_txt`,
`test_what_drips_is_put_off`, and tests/spiders/test_extract.py,
test_requisites.py, tests/extensions/test_ftp_handler.py and tests/plugins/rendering/test_hostile_pages.py,
meet them."""


def sitemap(entries: int) -> bytes:
    """Unfinished, as one that has no end."""
    return b"<urlset>" + b"".join(b"<url><loc>/entry-%d</loc></url>" % number for number in range(entries))


@pytest.mark.parametrize(
    ("limit", "body"),
    [(SITEMAP_ENTRIES, sitemap(100)), (SITEMAP_SIZE, gzip.compress(sitemap(20) + b" " * (10 << 20)))],
    ids=["entries", "size"],
)
def test_a_sitemap_without_end(limit: AnyLimit, body: bytes, tmp_path: Path) -> None:
    """Its first part is used, and the rest is not read."""
    small = {"LIMITS": {"SITEMAP_ENTRIES": 20, "SITEMAP_SIZE": 100_000}, "STATS_DUMP": True, "LOG_LEVEL": "INFO"}
    pages: dict[str, Page] = {"/": linked("/"), "/sitemap.xml": Answer(body, 200, {"Content-Type": "text/xml"})}
    with LocalWeb(lambda path, host: pages.get(path, "entry" if "/entry" in path else None)) as web:
        done = generic(web.root, tmp_path / "job", sitemaps=f"{web.root}/sitemap.xml", **small)
        assert done.returncode == 0, done.stderr
        assert sum("/entry" in path for path in web.paths()) == 20
    stats = stats_of(done.stderr)
    assert {name: stats.get(name, 0) for name in (SITEMAP_ENTRIES.stat, SITEMAP_SIZE.stat)} == {
        SITEMAP_ENTRIES.stat: int(limit is SITEMAP_ENTRIES),
        SITEMAP_SIZE.stat: int(limit is SITEMAP_SIZE),
    }


def test_too_many_rules_of_a_robots_txt(tmp_path: Path) -> None:
    """Those beyond the limit are left out, and what takes too long to compare is not asked for; both are counted."""
    rules = "User-agent: *\n" + "".join(f"Disallow: /*{n}*x\n" for n in range(20_001))
    pages: dict[str, Page] = {"/": linked("/page"), "/page": "a page", "/robots.txt": rules}
    told = {"STATS_DUMP": True, "LOG_LEVEL": "INFO"}
    with LocalWeb(pages) as web:
        done = generic(web.root, tmp_path / "job", **told)
        assert not web.paths()  # of pages
    stats = stats_of(done.stderr)
    assert stats[limits.ROBOTS_RULES.stat] == 1
    assert stats[limits.ROBOTS_WORK.stat] > 0


def test_what_drips_is_put_off(tmp_path: Path) -> None:
    """An answer that has begun and hardly goes on holds up no other page: it is asked for again when all others are
    done, and its host has not failed.
    """
    asked: list[str] = []
    slow = [f"/slow-{number}" for number in range(4)]
    site = pages({"/": linking(*slow, *GOOD), **{path: whole(path.encode()) for path in [*slow, *GOOD]}})
    drip = hostile.forever(head(), b"x", pause=0.2)

    def trick(connection: socket.socket, path: str) -> None:
        asked.append(path)
        (drip if path in slow and asked.count(path) == 1 else site)(connection, path)

    patient = {**SETTINGS, **PATIENT, "SITECRAWL_MAX_HOST_FAILURES": 1}
    with HostileWeb(trick, "127.0.0.93") as web:
        found = run([web.root], tmp_path, patient)
    assert found.code == 0, found.log
    assert good_pages(tmp_path, web.root) == dict.fromkeys(["/", *slow, *GOOD], 1)
    assert stats_of(found.log)[limits.RATE.stat] == len(slow)
    again = [path in asked[:at] for at, path in enumerate(asked)]
    assert again == sorted(again)
    # A page that a busy machine was late with is asked for again, too.
    assert set(slow) <= {path for path, is_again in zip(asked, again, strict=True) if is_again}


def test_what_hangs_is_put_off(tmp_path: Path) -> None:
    """A URL that brings nothing while others wait for the only seat of its host comes when these are done."""
    asked: list[str] = []
    slow = [f"/slow-{number}" for number in range(4)]
    site = pages({"/": linking(*slow, *GOOD), **{path: whole(path.encode()) for path in [*slow, *GOOD]}})

    def trick(connection: socket.socket, path: str) -> None:
        asked.append(path)
        (hostile.silent if path in slow and asked.count(path) == 1 else site)(connection, path)

    with HostileWeb(trick, "127.0.0.94") as web:
        found = run([web.root], tmp_path, {**SETTINGS, **PATIENT, "SITECRAWL_ORDER": "bfs"})
    assert found.code == 0, found.log
    assert good_pages(tmp_path, web.root) == dict.fromkeys(["/", *slow, *GOOD], 1)
    assert asked[:6] == ["/robots.txt", "/", *slow]
    assert max(map(asked.index, GOOD)) < min(asked.index(path, 6) for path in slow)
    assert re.search("failed downloads +0$", found.log, re.MULTILINE)
    assert "most errors" not in found.log


def test_a_robots_txt_has_no_seat_of_its_own(tmp_path: Path) -> None:
    """With two seats, a page that waits for a robots.txt that hangs leaves one to another host."""
    good: dict[str, Page] = {"/": linked(*GOOD), **{path: linked("/", title=path) for path in GOOD}}

    def trick(connection: socket.socket, path: str) -> None:
        until(lambda: set(site.paths()) >= set(good), "all pages of the other host")

    settings = {**SETTINGS, **PATIENT, "CONCURRENT_REQUESTS": 2}
    with LocalWeb(good) as site, HostileWeb(trick, "127.0.0.95") as web:
        found = run([web.root, site.root], tmp_path, settings)
        assert found.code == 0, found.log
        assert good_pages(tmp_path, site.root) == dict.fromkeys(good, 1)


@pytest.mark.parametrize("limit", [one for one in LIMITS if one not in ELSEWHERE], ids=lambda limit: limit.stat)
def test_every_limit_is_met_and_counted(crawl: Crawl, limit: object) -> None:
    """No limit without a host that goes beyond it, and no host that does without a stat."""
    assert crawl.stats.get(limit.stat, 0) > 0  # type: ignore[attr-defined]


def test_memory_is_bounded(crawl: Crawl) -> None:
    """Whatever is offered, at once or without end, the process stays small."""
    assert crawl.memory < MAX_MEMORY, crawl.memory


def test_nobody_can_be_reached_who_is_not_named(crawl: Crawl) -> None:
    """Not by a link, a redirect or a robots.txt, and not in another spelling of the address or by a name."""
    assert crawl.victim == 0
    hosts = (f"//{VICTIM}:", "//localhost:", "//[::ffff:7f00:63]:")  # the other spellings are the first one's
    refused = {url: state for url, state in crawl.states.items() if any(host in url for host in hosts)}
    assert len(refused) == 5
    assert set(refused.values()) == {UrlState.EXCLUDED}


def test_the_first_part_of_a_robots_txt_counts(crawl: Crawl) -> None:
    """However long it is, and however many crawlers it names."""
    assert [state for url, state in crawl.states.items() if url.endswith("/open")] == [UrlState.FETCHED] * 3
    assert [state for url, state in crawl.states.items() if url.endswith("/secret")] == [UrlState.EXCLUDED] * 3
