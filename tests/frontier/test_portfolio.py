"""Several orders pick in turns: what each of them is guaranteed, whatever the others believe of a site."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from database_files import put_away
from frontier_helpers import Bench, digest, url

from sitecrawl.frontier.portfolio import SHARE, By, Portfolio
from sitecrawl.frontier.urls.disk_queue import DiskQueue
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.order import Aopic, Facts, class_of, credit_class
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.page.items import Link

SITES = range(6)
"""Seeds from which sites are drawn."""


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "db", "aopic")
    yield made
    put_away(made.database)


class Tree:
    """A site in which one page leads to each other one; what a section is worth says nothing of what it leads to."""

    def __init__(self, seed: int, pages: int = 400) -> None:
        random = Random(seed)
        self.links: dict[str, list[Link]] = {"home": []}
        self.good: dict[str, bool] = {"home": True}
        for number in range(pages):
            parent = random.choice(list(self.links)[-1 - int(random.expovariate(1 / 60)) % len(self.links) :])
            name = f"{random.choice('abcdefgh')}/{number}"
            self.links[parent].append(url(name))
            self.links[name] = []
            self.good[name] = random.random() < (ord(name[0]) - ord("a")) / 8

    def breadth_first(self) -> list[str]:
        """The names of all pages in the order in which breadth first fetches them."""
        names = ["home"]
        for name in names:
            names += [link.url.removeprefix("http://a.example/") for link in self.links[name]]
        return names

    def surf(self, bench: Bench) -> Iterator[str]:
        """Crawl it; gives the names of the pages as they are taken."""
        bench.add("home")
        while (visit := bench.frontier.next()) is not None:
            name = visit.url.removeprefix("http://a.example/")
            yield name
            bench.link(visit, *self.links[name])
            bench.finish(visit, good=self.good[name])
            if len(self.links) % 7 == 0:
                bench.commit()


@pytest.mark.parametrize("seed", SITES)
def test_breadth_first_is_never_far_ahead(bench: Bench, seed: int) -> None:
    """What breadth first has after n fetches, in its own order, is in after `SHARE` times n."""
    site = Tree(seed)
    order = list(site.surf(bench))
    assert {*order} == {*site.links}
    at = {name: place for place, name in reversed([*enumerate(order)])}
    last = -1
    for number, name in enumerate(site.breadth_first(), 1):
        last = max(last, at[name])
        assert last < SHARE * number + SHARE


@pytest.mark.parametrize("seed", SITES)
def test_credit_alone_is_never_far_ahead(seed: int) -> None:
    """Of all that waits the n richest are taken after `SHARE` times n, though other orders think nothing of them."""
    random, host = Random(seed), Host(bytes(8), "a.example")
    portfolio = Portfolio(Aopic(), NoBreadth(), NoUrls(), in_flight=())  # type: ignore[arg-type]
    classes: list[int] = []
    for number in range(5):
        key = bytes(8) + bytes([0, 0, 0, number])
        section = host.sections[key[8:]] = Section(key, f"/{number}", DiskQueue(None, key, empty=True))  # type: ignore[arg-type]
        section.worth, section.received, section.known = random.random() ** 8, random.random(), 1
        section.trap.demoted = number == 0
        section.trap.reason = Reason.GROWS
        for _ in range(60):
            credit = int(2 ** (random.random() * 20))
            classes.append(credit_class(credit))
            section.queue.push(Aopic().rank(Facts(1, len(classes), credit=credit)) + bytes(16))
        section.queued = 60
    host.queued = 300
    taken: list[int] = []
    while (pick := portfolio.next_of(host)) is not None:
        pick.section.queue.take(pick.entry)
        pick.section.queued -= 1
        portfolio.taken(host, pick)
        taken.append(class_of(pick.entry))
        missing = Counter(sorted(classes, reverse=True)[: len(taken) // SHARE]) - Counter(taken)
        assert missing.total() <= 1
    assert len(taken) >= 240


def test_fetches_that_no_order_picked_count() -> None:
    """Of probes, tests of rules and redirects, too, credit alone has its share."""
    host = Host(bytes(8), "a.example")
    portfolio = Portfolio(Aopic(), NoBreadth(), NoUrls(), in_flight=())  # type: ignore[arg-type]
    for number in range(2):
        key = bytes(11) + bytes([number])
        section = host.sections[key[8:]] = Section(key, f"/{number}", DiskQueue(None, key, empty=True))  # type: ignore[arg-type]
        section.worth = 0.9**number
        for _ in range(50):
            section.queue.push(Aopic().rank(Facts(1, 1, credit=2 ** (10 * number))) + bytes(16))
        section.queued = 50
    host.queued, host.fetched = 100, 40
    picked: list[By] = []
    while len(picked) < 12 and (pick := portfolio.next_of(host)) is not None:
        pick.section.queue.take(pick.entry)
        portfolio.taken(host, pick)
        picked.append(pick.by)
    assert picked[: 40 // SHARE] == [By.CREDIT] * (40 // SHARE)
    assert picked[40 // SHARE] is not By.CREDIT


class NoBreadth:
    """Breadth first has nothing to take."""

    def next(self, host: Host) -> None:
        return None


class NoUrls:
    """Nobody asks for a record."""


def two_sections(address: str) -> list[Link]:
    if address.endswith("home"):
        return [url(f"{part}/{number}") for number in range(100) for part in ("art", "old")]
    return []


def test_what_is_held_back_has_the_plain_orders(bench: Bench) -> None:
    """A verdict takes a section its turns; breadth first and credit alone pick of it all the same."""
    bench.add("home")
    bench.surf(two_sections, budget=1)
    host = bench.frontier.hosts.get(digest("a.example", 8))
    assert host is not None
    old = bench.section_of("old/1")
    old.trap.demoted, old.trap.reason = True, Reason.GROWS
    fetched = bench.surf(two_sections, budget=80)
    held = sum("/old/" in address for address in fetched)
    assert 80 / SHARE / 2 <= held <= 80 / 2


def test_what_a_person_has_blocked_is_left_alone(bench: Bench) -> None:
    """No order picks what is blocked."""
    bench.add("home")
    bench.surf(two_sections, budget=1)
    host = bench.frontier.hosts.get(digest("a.example", 8))
    assert host is not None
    bench.frontier.judge.hold(host, bench.section_of("old/1"), Reason.BLOCKED)
    fetched = bench.surf(two_sections)
    assert [address for address in fetched if "/old/" in address] == []
    assert len(fetched) == 100


def test_a_restart_counts_on(bench: Bench) -> None:
    """The guarantee holds over restarts and crashes: what was done by the last checkpoint counts."""
    site, order = Tree(1), []
    for number, name in enumerate(site.surf(bench)):
        order.append(name)
        if number == 60:
            break
    bench.restart()
    (host,) = bench.frontier.hosts.live()
    assert SHARE * host.passed >= host.picks - SHARE
    assert host.picks >= 60
