"""The trap lab: sites that never end, served live, and good sites beside them that must come in whole."""

from __future__ import annotations

import itertools
import re
import socketserver
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from crawling import crawl
from frontier_helpers import balance
from localweb import Answer, LocalWeb, Page, linked
from waiting import FOREVER

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.credit.ledger import Ledger
from sitecrawl.frontier.judge.held import explain
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import UrlRecord, UrlState
from sitecrawl.frontier.urls.tables import HostTable

PAGES_OF_A_GOOD_SITE = 61
PAGE_BUDGET = 6000
"""The outer bound: a lab that reaches it has not ended by itself."""
WIDE = 20_000
SMALL_BUDGET = 1_500
ENDLESS = {
    "calendar",
    "session ids",
    "repeated segments",
    "stable maze",
    "changing maze",
    "double slashes",
}
"""The traps that mint URLs for as long as someone asks."""

Site = Callable[[str], Page | None]
"""What a host answers, by path."""

WORDS = [first + second for first in "bdfgklmnpr" for second in ("ab", "ean", "ick", "olo", "urn", "ynth")]


def text(key: object) -> str:
    """A text that no other key has."""
    return " ".join(Random(repr(key)).choices(WORDS, k=60))


def page(title: str, words: str, *paths: str) -> str:
    return linked(*paths, title=title).replace("</body>", f"<p>{words}</p></body>")


# Good sites


def good_site(name: str) -> Site:
    """A home page, six chapters, and nine pages in each."""
    chapters = [f"/chapter-{chapter}" for chapter in range(6)]

    def answer(path: str) -> str | None:
        if re.fullmatch("/chapter-[0-5]", path):
            return page(path, text((name, path)), "/", *(f"{path}/page-{number}" for number in range(9)))
        if path == "/" or re.fullmatch("/chapter-[0-5]/page-[0-8]", path):
            return page(path, text((name, path)), "/", *chapters)
        return None

    return answer


# Traps: each is the whole of a host


def calendar(path: str) -> str:
    """Months lead to the next and the last one for ever, and to their days."""
    year, month, *day = map(int, (path.strip("/") or "2024/1").split("/"))
    months = year * 12 + month - 1
    near = [f"/{other // 12}/{other % 12 + 1}" for other in (months - 1, months + 1)]
    days = [] if day else [f"/{year}/{month}/{number}" for number in range(1, 29, 7)]
    return page("Calendar", text("calendar"), *near, *days)


def new_numbers() -> Callable[[], int]:
    return itertools.count(1).__next__


def sessions() -> Site:
    """Three pages, each of whose links has an id that was never there before."""
    number = new_numbers()

    def answer(path: str) -> str:
        name = path.partition("?")[0]
        return page("Shop", text(name), *(f"/{place}?visitor=v{number()}" for place in "abc"))

    return answer


def repeated_segments(path: str) -> str:
    """A relative link that lacks its slash."""
    return page(path, text(path), *(f"{path.rstrip('/')}/{step}" for step in ("a", "b", "a/b")))


def stable_maze(path: str) -> str:
    """Ten random rooms behind every room, always the same."""
    chance = Random(path)
    return page(path, text(path), *(f"/room/{chance.randrange(10**9)}" for _ in range(10)))


def changing_maze() -> Site:
    """Ten random rooms behind every room, new ones at each visit."""
    number, chance = new_numbers(), Random(1)

    def answer(path: str) -> str:
        return page(f"{path} {number()}", text(number()), *(f"/room/{chance.randrange(10**9)}" for _ in range(10)))

    return answer


def double_slashes(path: str) -> str:
    """Every page is there again with one more slash."""
    return page("Slashes", text("slashes"), *(f"./{path}/{name}" for name in ("", "a", "b")))


def redirects() -> Site:
    """Twenty doors, and behind each a redirect that leads to the next, for ever."""
    number = new_numbers()

    def answer(path: str) -> Page:
        if path == "/":
            return page("Doors", text("doors"), *(f"/door/{door}" for door in range(20)))
        return Answer(b"on", 302, {"Location": f"/hop/{number()}", "Content-Type": "text/html"})

    return answer


def itself(path: str) -> str:
    """Nothing but links to itself, thousands of copies of them."""
    return page("Myself", text("myself"), *["/", "", "#top", "/?utm_source=me"] * 1000)


def copies(path: str) -> str:
    """Thousands of copies of one link."""
    return page(path, text(path), *["/one"] * 5000)


class _Dripping(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.recv(1 << 16)
        self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        try:
            while True:
                self.request.sendall(b" ")
                time.sleep(0.05)
        except OSError:
            return


@contextmanager
def slow_drip(address: str) -> Iterator[str]:
    """Sends a byte now and then, for ever; gives its root."""
    with socketserver.ThreadingTCPServer((address, 0), _Dripping) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield f"http://{address}:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def traps() -> dict[str, Site]:
    return {
        "calendar": calendar,
        "session ids": sessions(),
        "repeated segments": repeated_segments,
        "stable maze": stable_maze,
        "changing maze": changing_maze(),
        "double slashes": double_slashes,
        "redirects": redirects(),
        "itself": itself,
        "copies": copies,
    }


# The lab


class Hosts:
    """Sites on addresses of their own, for as long as the `with` lasts."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._addresses = (f"127.0.0.{number}" for number in itertools.count(2))

    def serve(self, site: Site) -> str:
        """Returns the root of the site, which has no robots.txt."""
        web = LocalWeb(lambda path, _: None if path == "/robots.txt" else site(path), address=next(self._addresses))
        return self._stack.enter_context(web).root

    def drip(self) -> str:
        return self._stack.enter_context(slow_drip(next(self._addresses)))


@dataclass
class Lab:
    """One crawl of it."""

    good: list[str]
    """The roots of the good sites."""
    bad: dict[str, str]
    """The traps' names by their roots."""
    done: subprocess.CompletedProcess[str]
    jobdir: Path

    def stored(self, root: str) -> int:
        """Pages of the host at `root` in the page store."""
        with closing(sqlite3.connect(self.jobdir / "pages.sqlite")) as index:
            rows = index.execute("SELECT DISTINCT url FROM pages WHERE kind = 'page'").fetchall()
        return sum(url.startswith(f"{root}/") for (url,) in rows)

    @contextmanager
    def database(self) -> Iterator[Database]:
        database = Database(self.jobdir / "db", hash_name=HASH_NAME, read_only=True)
        try:
            yield database
        finally:
            database.close()

    def hosts(self) -> dict[str, Host]:
        """What the frontier knows of every host, by its root."""
        with self.database() as database:
            table = HostTable(database, str.encode)
            found = [host for key, _ in database.scan("hosts") if (host := table.get(key)) is not None]
        return {f"http://{host.name}": host for host in found}

    def held_back(self) -> Iterator[tuple[str, str]]:
        """The roots of what is demoted, and why it is."""
        hosts = self.hosts()
        fetches = sum(host.fetched for host in hosts.values())
        for root, host in hosts.items():
            if host.trap.demoted:
                yield root, explain(host, fetches)
            for section in host.sections.values():
                if section.trap.demoted:
                    yield root, f"{section.shape} {explain(section, fetches)}"


def visit(jobdir: Path, start: str, good: list[str], bad: dict[str, str], budget: int) -> Lab:
    """Crawl from `start`, and from two seeds that are dead."""
    done = crawl(
        f"{start} http://127.0.0.1:1/ http://dead.invalid/",
        jobdir,
        scope="any",
        DOWNLOAD_TIMEOUT=FOREVER,
        RETRY_TIMES=0,
        SITECRAWL_FAILURE_DELAY=0.1,
        SITECRAWL_ALLOW_PRIVATE=True,  # the start page names the others
        SITECRAWL_MAX_PAGES=budget,
        SITECRAWL_EXIT_CODES=True,
        LIMITS={"sitecrawl.extensions.watch.PATIENCE": 1.0},  # with what drips, and nothing else
    )
    return Lab(good, bad, done, jobdir)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """All traps that mint URLs or waste time, with a budget that a crawl which ends by itself does not reach."""
    with ExitStack() as stack:
        hosts = Hosts(stack)
        good = [hosts.serve(good_site(name)) for name in ("one", "other")]
        bad = {hosts.serve(trap): name for name, trap in traps().items()}
        doors = page("All", text("all"), hosts.drip(), *bad, *good)
        start = stack.enter_context(LocalWeb({"/": doors})).root
        return visit(tmp_path_factory.mktemp("lab") / "job", start, good, bad, PAGE_BUDGET)


@pytest.fixture(scope="module")
def wide_lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A page with 20,000 links that lead nowhere. They are finite, so only the budget ends this crawl early."""
    links = page("Wide", text("wide"), *(f"/gone/{number}" for number in range(WIDE)))
    with ExitStack() as stack:
        hosts = Hosts(stack)
        good = [hosts.serve(good_site("one"))]
        wide = hosts.serve({"/": links}.get)
        start = stack.enter_context(LocalWeb({"/": page("All", text("all"), wide, *good)})).root
        return visit(tmp_path_factory.mktemp("wide") / "job", start, good, {wide: "wide"}, SMALL_BUDGET)


def credit(lab: Lab) -> tuple[int, int]:
    """All credit that someone holds, and all that there is, in the directory that the crawl has left."""
    with lab.database() as database:
        ledger = Ledger.unpack(database.get("meta", b"ledger") or b"")
        hosts = {key: Host.unpack(key, data) for key, data in database.scan("hosts")}
        held = ledger.reserve
        for _, data in database.scan("urls"):
            record = UrlRecord.unpack(data)
            waits = record.state == UrlState.QUEUED
            held += balance(ledger, record, hosts[record.host]) if waits else record.credit
        held += sum(host.rest for host in hosts.values())  # after the balances, which settle the hosts
    return held, ledger.total


@pytest.mark.deep
class TestTraps:
    """One crawl of all traps beside two good sites."""

    def test_all_good_pages_come_in(self, lab: Lab) -> None:
        """No trap keeps the crawl from a page of a good site."""
        assert [lab.stored(root) for root in lab.good] == [PAGES_OF_A_GOOD_SITE] * 2

    def test_it_ends_by_itself(self, lab: Lab) -> None:
        """The crawl finishes long before its budget is spent, though most traps have URLs left."""
        assert lab.done.returncode == 5, lab.done.stderr
        assert "Traceback" not in lab.done.stderr
        hosts = lab.hosts()
        assert sum(host.fetched for host in hosts.values()) < PAGE_BUDGET
        assert sum(hosts[root].queued > 0 for root in lab.bad) >= len(ENDLESS)

    def test_what_was_held_back_is_explained(self, lab: Lab) -> None:
        """Every endless trap is on record with its reason, and no good site is."""
        held = list(lab.held_back())
        for root, why in held:
            print(f"{lab.bad.get(root, root)}: {why}")
        assert {lab.bad.get(root, root) for root, _ in held} >= ENDLESS
        assert not {root for root, _ in held} & {*lab.good}

    def test_links_to_itself_and_copies_are_one(self, lab: Lab) -> None:
        """Thousands of them bring forth no URL that was not there."""
        known = {lab.bad[root]: host.known for root, host in lab.hosts().items() if root in lab.bad}
        assert (known["itself"], known["copies"]) == (1, 2)

    def test_no_credit_is_made_or_lost(self, lab: Lab) -> None:
        """What all pages, hosts and the lambda page hold is what the seeds brought."""
        held, total = credit(lab)
        assert held == total > 0


class TestWidePage:
    """A page with 20,000 links."""

    def test_good_pages_come_in_before_its_links(self, wide_lab: Lab) -> None:
        """A small budget is enough for the good site beside it."""
        assert wide_lab.done.returncode == 0, wide_lab.done.stderr
        assert [wide_lab.stored(root) for root in wide_lab.good] == [PAGES_OF_A_GOOD_SITE]

    def test_no_link_is_forgotten(self, wide_lab: Lab) -> None:
        """The budget leaves them waiting."""
        [root] = wide_lab.bad
        assert wide_lab.hosts()[root].known == 1 + WIDE

    def test_no_credit_is_made_or_lost(self, wide_lab: Lab) -> None:
        """A share of one in 20,000 is still a share."""
        held, total = credit(wide_lab)
        assert held == total > 0
