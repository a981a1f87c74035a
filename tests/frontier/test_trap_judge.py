"""Traps are held back, for a reason that can be told; everything that is finite comes in."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from database_files import put_away
from frontier_helpers import Bench, all_credit, check_sections, url

from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.credit.trust import HostGraph
from sitecrawl.frontier.judge.held import explain
from sitecrawl.frontier.portfolio import SHARE
from sitecrawl.frontier.urls.options import FrontierOptions, TrapOptions
from sitecrawl.frontier.urls.trap_state import Reason

TRAPS = TrapOptions(
    min_fetches=10,
    host_size=50,
    allowance=30,
    least_budget=30,
    last_budget=30,
)
"""The judge's rules, for sites of tens of pages."""
FRIENDS = [f"friend{n}.example" for n in range(8)]


@pytest.fixture
def bench(tmp_path):
    made: list[Bench] = []

    def make(order="aopic", traps=TRAPS):
        made.append(Bench(tmp_path / "db", order, options=FrontierOptions(traps=traps)))
        return made[0]

    yield make
    put_away(made[0].database)


def articles(count: int = 100):
    return [url(f"art/{n}") for n in range(count)]


def number_of(address: str) -> int:
    return int(address.rpartition("/")[2])


class Minting:
    """A site of articles and its friends, one link to another host, which makes three new pages a page."""

    GOOD = 100 + len(FRIENDS) + 1

    def __init__(self, traps: int = 1) -> None:
        self.minted = 0
        self.traps = traps

    def __call__(self, address: str) -> list:
        if "trap" in address:
            host = address.split("/")[2]
            self.minted += 3
            return [url(f"p/{self.minted - n}", host) for n in range(3)]
        if address.endswith(".example/home"):
            return articles()
        if "/art/" in address:
            friend = url("home", FRIENDS[number_of(address) % len(FRIENDS)])
            trap = url("p/0", f"trap{number_of(address) % self.traps}.example")
            return [friend, trap] if number_of(address) < max(8, self.traps) else [friend]
        return []


class Calendar:
    """A site of articles with a calendar, whose every page leads to two more."""

    def __call__(self, address: str) -> list:
        if address.endswith("/home"):
            return [*articles(), url("cal/1")]
        if "/cal/" in address:
            return [url(f"cal/{2 * number_of(address) + n}") for n in range(2)]
        return []


def is_trap(address: str) -> bool:
    return "trap" in address or "/cal/" in address


def host_named(crawl: Bench, name: str):
    host = crawl.frontier.hosts.get(crawl.frontier.hosts.key_of(name))
    assert host is not None
    return host


def test_a_host_that_mints(bench):
    """It is held back, all good pages come in, and the crawl ends by itself."""
    crawl = bench()
    crawl.add("home")
    fetched = crawl.surf(Minting())
    assert crawl.frontier.is_finished()
    assert sum(not is_trap(address) for address in fetched) == Minting.GOOD
    assert sum(map(is_trap, fetched)) < 150
    host = host_named(crawl, "trap0.example")
    assert host.trap.demoted
    assert host.trap.reason == Reason.GROWS
    assert not host_named(crawl, "a.example").trap.demoted


def test_a_section_that_mints(bench):
    """It is held back after twice as many fetches as there are good pages, and the rest of its host is not."""
    crawl = bench()
    crawl.add("home")
    fetched = crawl.surf(Calendar())
    assert crawl.frontier.is_finished()
    assert sum(not is_trap(address) for address in fetched) == 101
    assert sum(map(is_trap, fetched)) < 2 * 101 + 60
    host = host_named(crawl, "a.example")
    assert not host.trap.demoted
    assert [s.shape for s in host.sections.values() if s.trap.demoted] == ["/cal/*"]


@pytest.mark.parametrize("web", [Minting, Calendar])
def test_most_good_pages_come_before_the_trap(bench, web):
    """While good pages wait, a trap whose pages look good gets no more fetches than they do."""
    crawl = bench(traps=TrapOptions(min_fetches=10, host_size=20))
    crawl.add("home")
    fetched = crawl.surf(web())
    good = [n for n, address in enumerate(fetched) if not is_trap(address)]
    assert sum(map(is_trap, fetched[: good[-1] + 1])) <= len(good)


@pytest.mark.parametrize("order", ["bfs", "dfs", "best"])
@pytest.mark.parametrize("web", [Minting, Calendar])
def test_orders_that_hold_nothing_back(bench, order, web):
    """Whoever asks for another order gets it, traps and all."""
    crawl = bench(order)
    crawl.add("home")
    assert len(crawl.surf(web(), budget=600)) == 600
    assert not crawl.frontier.judge.demoted


@pytest.mark.parametrize("order", ["bfs", "aopic"])
def test_what_was_held_back_is_free_in_another_crawl(tmp_path, order):
    """A crawl that is resumed in another order, or with a depth limit, gets everything, and is not stuck."""
    crawl = Bench(tmp_path / "db", "aopic", options=FrontierOptions(traps=TRAPS))
    crawl.add("home")
    crawl.surf(Calendar())
    left = crawl.frontier.figures.waiting
    assert left > 0
    crawl.order, crawl.options = order, FrontierOptions(max_depth=1000, traps=TRAPS)
    crawl.crash()
    assert len(crawl.drain()) == left
    put_away(crawl.database)


def test_a_depth_limit_holds_nothing_back(tmp_path):
    """All of a level is done before the next one, so nothing of it may be left."""
    crawl = Bench(tmp_path / "db", "aopic", options=FrontierOptions(max_depth=9, traps=TRAPS))
    crawl.add("home")
    fetched = crawl.surf(Calendar())
    assert crawl.frontier.figures.waiting == 0
    assert sum(map(is_trap, fetched)) == 2**9 - 1
    put_away(crawl.database)


def test_holding_back_can_be_switched_off(bench):
    """Without `hold` the order is by credit, and nothing is demoted."""
    crawl = bench(traps=TrapOptions(hold=False, min_fetches=10, host_size=50))
    crawl.add("home")
    assert len(crawl.surf(Minting(), budget=600)) == 600
    assert not crawl.frontier.judge.demoted


def test_a_finite_site_that_grows_at_first(bench):
    """A tree of pages looks like a trap until its leaves are known. Its pages are good, so it is not held back."""
    pages = 400

    def links_of(address):
        if address.endswith("/home"):
            return [url("tree/1"), url("about"), *articles(300)]
        if "/tree/" in address:
            return [url(f"tree/{n}") for n in (2 * number_of(address), 2 * number_of(address) + 1) if n <= pages]
        return []

    crawl = bench(traps=TrapOptions(min_fetches=10))
    crawl.add("home")
    demoted = []

    def watched(address):
        demoted.append(any(s.trap.demoted for s in host_named(crawl, "a.example").sections.values()))
        return links_of(address)

    fetched = crawl.surf(watched)
    assert not any(demoted)
    assert len(fetched) == len(set(fetched)) == pages + 302


class LargeSites:
    """Sites of which every page leads to many others, at random, and to a page of the next site."""

    NAMES = tuple(f"large{n}.example" for n in range(5))
    PAGES = 400
    LINKS = 15

    def __call__(self, address: str) -> list:
        name, draw = address.split("/")[2], Random(address)
        own = [url(f"p/{draw.randrange(self.PAGES)}", name) for _ in range(self.LINKS)]
        after = url(f"p/{(number_of(address) + 1) % self.PAGES}", name)
        other = self.NAMES[(self.NAMES.index(name) + 1) % len(self.NAMES)]
        return [*own, after, url(f"p/{draw.randrange(self.PAGES)}", other)]


@pytest.mark.parametrize("restarts", [False, True], ids=["in one run", "over a restart"])
def test_large_sites_that_were_named(bench, restarts):
    """Each of them grows for long, beside others that do. Who made a list of them wants them all."""
    crawl = bench(traps=TrapOptions(min_fetches=10, host_size=50, allowance=30))
    for name in LargeSites.NAMES:
        crawl.add("p/0", host=name)
    fetched = crawl.surf(LargeSites(), budget=150)
    if restarts:
        crawl.commit()
        crawl.restart()
    fetched += crawl.surf(LargeSites())
    assert len(fetched) == len(set(fetched)) == len(LargeSites.NAMES) * LargeSites.PAGES
    assert not crawl.frontier.judge.demoted


@pytest.fixture
def list_of_sites(bench):
    """A page that leads to the first pages of large sites that nobody named, crawled until nothing is left to do."""
    crawl = bench(traps=TrapOptions(min_fetches=10, host_size=50))
    crawl.add("home")

    def surf(links_of):
        def all_links(address):
            firsts = [url("p/0", name) for name in LargeSites.NAMES]
            return firsts if address.endswith("/home") else links_of(address)

        return crawl, crawl.surf(all_links, budget=20 * LargeSites.PAGES)

    return surf


def test_large_sites_that_were_not(list_of_sites):
    """The same where only a list leads to them: all are held back, and told from traps one after the other.

    What may be spent on all of them says nothing if each of them gets a little of it.
    """
    crawl, fetched = list_of_sites(LargeSites())
    assert len(fetched) == len(set(fetched)) == len(LargeSites.NAMES) * LargeSites.PAGES + 1
    assert not crawl.frontier.judge.demoted


def test_farms_that_were_not(list_of_sites):
    """What looks like them but has no end is not set free, however it is sampled, and costs no more."""

    def endless(address):
        name, number = address.split("/")[2], number_of(address)
        return [url(f"p/{20 * number + n}", name) for n in range(1, 17)]

    crawl, fetched = list_of_sites(endless)
    assert {host.name for host, _ in crawl.frontier.judge.demoted.values()} == set(LargeSites.NAMES)
    judge, held = crawl.frontier.judge, len(LargeSites.NAMES)
    tried = sum(host.trap.tried for host, _ in judge.demoted.values())
    options = judge.options
    assert len(fetched) <= 1 + tried + options.allowance + options.allowance_share * len(fetched) + held


def worthless_site(address: str) -> list:
    if address.endswith("/home"):
        return [*articles(200), *(url(f"tag/{n}") for n in range(200))]
    return []


def test_a_finite_section_that_is_worth_little(bench):
    """What is poor but does not grow is fetched after all that is better, and completely."""
    crawl = bench()
    crawl.add("home")
    fetched = crawl.surf(worthless_site, is_good=lambda address: "/tag/" not in address)
    assert len(fetched) == 401
    assert crawl.frontier.figures.waiting == 0
    last = max(n for n, address in enumerate(fetched) if "/art/" in address)
    assert sum("/tag/" in address for address in fetched[:last]) <= TRAPS.min_fetches + 0.05 * 200
    (poor,) = (s for s in host_named(crawl, "a.example").sections.values() if s.shape == "/tag/*")
    assert poor.trap.reason == Reason.WORTHLESS


def test_a_finite_section_beside_many_traps(bench):
    """However many traps are held back, what is finite is not forgotten among them."""
    crawl = bench()
    crawl.add("home")
    web = Minting(traps=100)

    def links_of(address):
        return [*web(address), *worthless_site(address)]

    fetched = crawl.surf(links_of, is_good=lambda address: "/tag/" not in address and "trap" not in address)
    assert sum("/tag/" in address for address in fetched) == 200


def test_what_is_held_back_is_left_to_the_plain_orders(bench):
    """As long as something better waits, breadth first and credit alone take some of it, in their turns."""
    crawl = bench()
    judge = crawl.frontier.judge
    crawl.add("home", "cal/1")
    web = Calendar()

    def links_of(address):
        return [*web(address), *(articles(1000) if address.endswith("/home") else [])]

    fetched = crawl.surf(links_of, budget=800, is_good=lambda address: not is_trap(address))
    assert judge.demoted
    assert 3 < sum(map(is_trap, fetched[200:])) <= 600 / SHARE


def test_what_gives_good_pages_is_not_held_back(bench):
    """However fast a wiki grows at first whose every page is good, all of it comes in, beside forms that say nothing.

    Its pages lead to one another, so that the more of it is known the fewer of a page's links are new.
    """
    pages = 900

    def links_of(address):
        if address.endswith("/home"):
            return [url("wiki/1"), *articles()]
        if "/wiki/" not in address:
            return []
        number = number_of(address)
        random = Random(number)
        more = [2 * number, 2 * number + 1, *(random.randint(1, pages) for _ in range(4))]
        return [*(url(f"wiki/{n}") for n in more if n <= pages), url(f"edit/{number}"), url(f"log/{number}")]

    crawl = bench()
    crawl.add("home")
    fetched = crawl.surf(links_of, is_good=lambda address: "/edit/" not in address and "/log/" not in address)
    assert sum("/wiki/" in address for address in fetched) == pages


@pytest.mark.parametrize("traps", [1, 3])
def test_traps_of_one_host_share_a_budget(bench, traps):
    """However many traps a host has whose pages look good, they cost twice as many fetches as its other pages."""

    def links_of(address):
        if address.endswith("/home"):
            return [*articles(), *(url(f"cal{n}/1") for n in range(traps))]
        folder, number = address.split("/")[-2:]
        return [url(f"{folder}/{2 * int(number) + n}") for n in range(2)] if folder.startswith("cal") else []

    crawl = bench()
    crawl.add("home")
    fetched = crawl.surf(links_of)
    assert crawl.frontier.is_finished()
    assert sum("/art/" in address for address in fetched) == 100
    assert sum("/cal" in address for address in fetched) < 2 * 101 + 60 + 2 * TRAPS.min_fetches * traps


def test_an_operator_is_told_why(bench):
    """The explanation names the numbers, and since when."""
    crawl = bench()
    crawl.add("home")
    crawl.surf(Calendar())
    (section,) = (s for s in host_named(crawl, "a.example").sections.values() if s.trap.demoted)
    words = explain(section, crawl.frontier.judge.fetches)
    for number in (section.known, section.fetched, section.good, section.trap.since, crawl.frontier.judge.fetches):
        assert f"{number:,}" in words
    assert f"every page of it brings {section.trap.novelty:.1f} new ones" in words
    assert f"of the links to it {section.trap.then:.0%} were the first to their URL" in words
    assert f"{section.known - section.own:,} first seen elsewhere" in words


def test_why_it_is_worthless(bench):
    """A section that brought nothing good says so."""
    crawl = bench()
    crawl.add("home")
    crawl.surf(worthless_site, budget=300, is_good=lambda address: "/tag/" not in address)
    (section,) = (s for s in host_named(crawl, "a.example").sections.values() if s.trap.demoted)
    assert "0% of its last pages were worth having" in explain(section, 300)


def test_what_is_demoted_outlives_a_crash(bench):
    """After a crash the judge knows what it held back."""
    crawl = bench()
    crawl.add("home")
    crawl.surf(Minting(), budget=300)
    before = crawl.frontier.judge
    crawl.crash()
    after = crawl.frontier.judge
    assert after.demoted.keys() == before.demoted.keys() != set()
    assert (after.fetches, after.good) == (before.fetches, before.good)
    assert after.held() == before.held()
    crawl.surf(Minting(), budget=200)
    assert all_credit(crawl.frontier) == crawl.frontier.link_credit.ledger.total
    check_sections(crawl.frontier)


def test_a_site_map_is_no_sign_of_a_trap(bench):
    """A page with a thousand links counts no more than a few dozen: the section that it opens is not held back."""
    crawl = bench(traps=replace(TRAPS, last_budget=1000))

    def links_of(address):
        return [url(f"art/{n}") for n in range(1000)] if address.endswith("/art/0") else []

    crawl.add("art/0", "about")
    visited = crawl.surf(links_of, budget=20)
    assert len(visited) == 20
    section = next(s for s in host_named(crawl, "a.example").sections.values() if s.shape == "/art/*")
    assert 0.7 < section.trap.novelty < 5
    assert len(crawl.surf(links_of)) == 1001 - 20
    assert crawl.frontier.figures.waiting == 0


@pytest.mark.parametrize(("web", "walks"), [(Minting, True), (Calendar, False)])
def test_the_graph_is_walked_for_hosts_that_are_held_back(bench, monkeypatch, web, walks):
    """What only such hosts lead to is looked for while there are any, and not for a section that is held back."""
    walked: list[object] = []
    reached = HostGraph.reached

    def counted(*given):
        walked.append(given)
        return reached(*given)

    monkeypatch.setattr(HostGraph, "reached", counted)
    crawl = bench()
    crawl.add("home")
    crawl.surf(web())
    assert crawl.frontier.judge.demoted
    assert bool(walked) == walks


def test_what_only_a_trap_leads_to(bench):
    """Nobody but a host that is held back leads to the others of its farm: they are held back with it, and sooner."""
    crawl = bench(traps=TrapOptions(min_fetches=20, host_size=200, allowance=30))

    def links_of(address):
        host = address.split("/")[2]
        if not host.startswith("farm"):
            return [*articles(), url("p/0", "farm0.example")]
        minted = [url(f"p/{3 * number_of(address) + n}", host) for n in range(1, 4)]
        return [*minted, url("p/0", f"farm{number_of(address) % 10}.example")]

    crawl.add("home")
    fetched = crawl.surf(links_of)
    assert crawl.frontier.is_finished()
    assert sum("/art/" in address for address in fetched) == 100
    farm = [host_named(crawl, f"farm{number}.example") for number in range(10)]
    assert all(host.trap.demoted for host in farm)
    assert max(host.trap.tried for host in farm[1:]) < 20 <= farm[0].trap.tried


def test_the_finite_parts_of_a_host_that_is_held_back(bench):
    """They come in wholly, whether the host is held back or what grows on it."""
    crawl = bench(traps=TrapOptions(min_fetches=10, host_size=30, allowance=10, allowance_share=0))

    def links_of(address):
        if "shop" not in address:
            return [*articles(), *([] if "/art/" in address else [url("p/1", "shop.example")])]
        if "/p/" not in address:
            return []
        items = [url(f"item/{n}", "shop.example") for n in range(80)] if address.endswith("/p/1") else []
        return [*(url(f"p/{4 * number_of(address) + n}", "shop.example") for n in range(4)), *items]

    crawl.add("home")
    fetched = crawl.surf(links_of)
    assert crawl.frontier.is_finished()
    shop = host_named(crawl, "shop.example")
    assert any(unit.trap.demoted for unit in (shop, *shop.sections.values()))
    assert sum("/item/" in address for address in fetched) == 80
    assert sum("/p/" in address for address in fetched) < 2 * 80 + 40


def test_a_host_that_comes_to_be_trusted(bench):
    """Whoever was demoted before the sites of the seeds linked to it is set free when they do."""
    crawl = bench(traps=TrapOptions(min_fetches=10, host_size=20, allowance=5))

    def links_of(address):
        if "late" in address:
            return [url(f"p/{2 * number_of(address) + n}", "late.example") for n in range(2)]
        return [url("p/1", "late.example")] if number_of(address) else []

    crawl.add("art/0")
    crawl.add("p/1", host="late.example", depth=1)
    crawl.surf(links_of)
    assert host_named(crawl, "late.example").trap.demoted
    crawl.add(*(f"art/{n}" for n in range(1, 50)))
    free = []

    def watched(address):
        free.append(not host_named(crawl, "late.example").trap.demoted)
        return links_of(address)

    visited = crawl.surf(watched)
    assert any(free)
    assert sum("late" in address for address in visited) > 5


def test_what_was_set_free_is_not_listed_any_more(tmp_path):
    """A crawl that is resumed in an order that holds nothing back has no demoted section on disk either."""
    crawl = Bench(tmp_path / "db", "aopic", options=FrontierOptions(traps=TRAPS))
    crawl.add("home")
    crawl.surf(Calendar())
    crawl.commit()
    assert [s.shape for s in host_named(crawl, "a.example").sections.values() if s.trap.demoted] == ["/cal/*"]
    crawl.order = "bfs"
    crawl.restart()
    crawl.order = "aopic"
    crawl.restart()
    assert not crawl.frontier.judge.demoted
    put_away(crawl.database)


class TestByHand:
    """What a person blocks or sets free stays so, whatever the judge thinks."""

    def test_blocked(self, bench) -> None:
        """Nothing of a blocked section is fetched, no probe and no restart later, and the crawl ends all the same."""
        one = bench()
        one.add("home")
        (home,) = one.surf(
            lambda _: [url(f"a/{n}") for n in range(20)] + [url(f"b/{n}") for n in range(20)], budget=1
        )
        assert home.endswith("/home")
        host, section = one.frontier.hosts.named("a.example"), one.section_of("a/1")
        one.frontier.by_hand.block(host, section)
        one.restart()
        assert len(one.drain()) == 20
        assert one.frontier.is_finished()
        assert one.frontier.figures.held_back == 20
        section = one.section_of("a/1")
        assert section.trap.reason == Reason.BLOCKED
        assert "blocked by hand at fetch 1 of 21 (20 URLs known, 0 fetched" in explain(
            section, one.frontier.judge.fetches
        )
        one.commit()
        check_sections(one.frontier)

    def test_a_blocked_host(self, bench) -> None:
        """All of it stays, and what is found there later, too."""
        one = bench()
        one.add("home")
        one.add("x", host="b.example")
        one.frontier.by_hand.block(one.frontier.hosts.named("b.example"))
        blocked = explain(one.frontier.hosts.named("b.example"), one.frontier.judge.fetches)
        assert blocked == "blocked by hand at fetch 0 of 0 (1 URL known, 0 fetched, 0 good)"
        one.restart()
        assert one.drain() == ["home"]
        one.add("y", host="b.example")
        assert one.frontier.next() is None
        assert one.frontier.is_finished()

    def test_unblocked(self, bench) -> None:
        """What was blocked comes in once it is set free."""
        one = bench()
        one.add("home", "x")
        host = one.frontier.hosts.named("a.example")
        one.frontier.by_hand.block(host)
        assert one.frontier.next() is None
        one.frontier.by_hand.vouch(host)
        assert sorted(one.drain()) == ["home", "x"]

    @pytest.mark.parametrize("order", ["bfs", "dfs", "aopic"])
    def test_in_every_order(self, bench, order) -> None:
        """Blocking is no matter of credit, or of holding traps back."""
        one = bench(order, TrapOptions(hold=False))
        one.add("a/1", "b/1")
        one.frontier.by_hand.block(one.frontier.hosts.named("a.example"), one.section_of("a/1"))
        one.restart()
        assert one.drain() == ["1"]
        assert one.section_of("a/1").queued == 1

    def test_with_a_depth_limit(self, tmp_path) -> None:
        """A level that could not end would hold the crawl up for ever: so it is refused, with the reason."""
        one = Bench(tmp_path / "db", options=FrontierOptions(max_depth=3))
        one.add("home")
        with pytest.raises(OptionError, match="depth limit"):
            one.frontier.by_hand.block(one.frontier.hosts.named("a.example"))
        assert one.drain() == ["home"]
        put_away(one.database)

    def test_set_free(self, bench) -> None:
        """A demoted host that a person wants is fetched as others are, and is not demoted again, nor by a restart."""
        one, site = bench(), Minting()
        one.add("home")
        one.surf(site, budget=400)
        demoted = [host for host, section in one.frontier.judge.demoted.values() if section is None]
        assert demoted
        for host in demoted:
            one.frontier.by_hand.vouch(host)
            for section in host.sections.values():
                one.frontier.by_hand.vouch(host, section)
        one.restart()
        before = site.minted
        one.surf(site, budget=300)
        assert site.minted - before > 600  # nearly all of the fetches: nothing else was left
        assert not [h for h, s in one.frontier.judge.demoted.values() if s is None and h.name == demoted[0].name]
        assert "set free by hand" in explain(one.frontier.hosts.named(demoted[0].name), 1)

    def test_blocked_sections_of_a_demoted_host(self, bench) -> None:
        """A host with nothing but blocked sections left does not keep the crawl alive."""
        one = bench()
        one.add("a/1", "a/2")
        host = one.frontier.hosts.named("a.example")
        one.frontier.judge.hold(host, None, Reason.GROWS)
        one.frontier.by_hand.block(host, one.section_of("a/1"))
        assert one.frontier.next() is None
        assert one.frontier.is_finished()
