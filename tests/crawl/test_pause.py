"""A pause: one page at a time finds out whether the want is over, after pauses that grow."""

from __future__ import annotations

import pytest
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from sitecrawl.crawl.ending import ending
from sitecrawl.crawl.pause import FIRST_PAUSE, GRACE, LONGEST_PAUSE, REASONS, Pause
from sitecrawl.http import Want

KEY = b"k" * 16


class Crawl:
    """A pause, on a clock that moves when it is told to, and what it has done to its crawl."""

    def __init__(self, limit: float) -> None:
        self.now = 1000.0
        self.happened: list[str] = []
        self.under_way: set[bytes] = set()
        self.pause = Pause(
            MemoryStatsCollector(get_crawler()),
            limit=limit,
            is_under_way=self.under_way.__contains__,
            begun=lambda: self.happened.append("begun"),
            ended=lambda: self.happened.append("ended"),
            give_up=self.happened.append,
            clock=lambda: self.now,
        )

    def probe(self, want: Want = Want.NETWORK) -> None:
        """Wait until a page may be handed out, and let it fail."""
        assert not self.pause.may_ask()
        self.now += self.pause.next_time()
        assert self.pause.may_ask()
        self.pause.asked(KEY)
        self.under_way.add(KEY)
        assert not self.pause.may_ask()
        self.under_way.clear()
        self.pause.suffer(want)


@pytest.fixture
def crawl() -> Crawl:
    return Crawl(600.0)


def test_pauses_grow(crawl: Crawl) -> None:
    """Each is twice as long as the last, up to half a minute; what was under way before does not count."""
    crawl.pause.suffer(Want.NETWORK)
    crawl.pause.suffer(Want.NETWORK)
    seconds = []
    for _ in range(8):
        seconds.append(crawl.pause.next_time())
        crawl.probe()
    assert seconds == [min(FIRST_PAUSE * 2**n, LONGEST_PAUSE) for n in range(8)]
    assert crawl.happened == ["begun"] * 9


def test_it_ends_with_the_want(crawl: Crawl) -> None:
    """When anything is heard, all may be asked; and the next want begins with a short pause again."""
    crawl.pause.suffer(Want.NAMES)
    crawl.probe(Want.NAMES)
    crawl.now += 60
    assert str(crawl.pause) == "paused 0:01:00: no name server answers"
    crawl.pause.end()
    assert (str(crawl.pause), crawl.pause.may_ask()) == ("", True)
    crawl.pause.end()
    assert crawl.happened == ["begun", "begun", "ended"]
    crawl.pause.suffer(Want.FILES)
    assert crawl.pause.next_time() == FIRST_PAUSE


def test_a_want_that_lasts_ends_the_crawl() -> None:
    """With a reason that says what is lacking; without a limit it lasts as long as it takes."""
    crawl = Crawl(3.0)
    crawl.pause.suffer(Want.PORTS)
    for _ in range(3):
        crawl.probe(Want.PORTS)
    assert crawl.happened == ["begun"] * 4 + ["no_ports"]
    assert crawl.now - 1000.0 == 3.0  # the third pause would have ended after it
    endless = Crawl(0.0)
    endless.pause.suffer(Want.PORTS)
    for _ in range(100):
        endless.probe(Want.PORTS)
    assert endless.happened == ["begun"] * 101


def test_one_proxy_of_several_is_borne() -> None:
    """The crawl goes on, and ends only when nothing has been heard for as long as a want may last."""
    crawl = Crawl(3.0)
    for _ in range(3):
        crawl.pause.suffer(Want.PROXY)
        assert crawl.pause.may_ask()
        crawl.now += 1
    crawl.pause.end()
    crawl.pause.suffer(Want.PROXY)
    assert crawl.happened == []
    crawl.now += 3
    crawl.pause.suffer(Want.PROXY)
    assert crawl.happened == ["no_proxy"]


def test_names_pause_only_those_that_want_them(crawl: Crawl) -> None:
    """While something comes of other hosts, the crawl goes on without a name server, and pauses when nothing does."""
    crawl.pause.end()
    for _ in range(5):
        crawl.pause.suffer(Want.NAMES)
        crawl.pause.suffer(Want.LOOKUPS)
        assert crawl.pause.put_back(Want.NAMES, "http://dead.example/") > 0
        assert crawl.pause.may_ask()
        crawl.now += GRACE - 1
        crawl.pause.end()
    assert crawl.happened == []
    crawl.now += GRACE
    crawl.pause.suffer(Want.LOOKUPS)
    assert crawl.pause.may_ask()
    crawl.pause.suffer(Want.NAMES)
    assert not crawl.pause.may_ask()


def test_every_want_has_its_words() -> None:
    """As a finish reason, and in the summary."""
    assert REASONS.keys() == {f"no_{want}" for want in Want}
    assert ending("no_files").startswith("stopped for want of something: no more files")


def test_hosts_rest_that_meet_a_proxy_that_is_down(crawl: Crawl) -> None:
    """Twice as long each time, until something comes of them; for other wants the crawl pauses, and they do not."""
    a, b = "http://a.example/", "http://b.example/"
    assert [crawl.pause.put_back(Want.PROXY, a) for _ in range(6)] == [0.5, 1.0, 2.0, 4.0, 5.0, 5.0]
    assert crawl.pause.put_back(Want.PROXY, b) == 0.5
    crawl.pause.heard(f"{a}else")
    assert (crawl.pause.put_back(Want.PROXY, a), crawl.pause.put_back(Want.PROXY, b)) == (0.5, 1.0)
    assert crawl.pause.put_back(Want.NETWORK, a) == 0.0
