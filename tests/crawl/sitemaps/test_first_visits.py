"""How many sitemaps of a site may be asked for: a budget, and what they pay for."""

from __future__ import annotations

from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.crawl.sitemaps.locations import How
from sitecrawl.crawl.sitemaps.record import DAY, NEVER, SitemapKind, SitemapRecord, SitemapState
from sitecrawl.crawl.sitemaps.store import FREE, _FirstVisits

HOST = "a.example"


def named(number: int, at: float, **facts: object) -> SitemapRecord:
    record = SitemapRecord(f"http://{HOST}/{number}", HOST, how=How.INDEX, found=at)
    for name, value in facts.items():
        setattr(record, name, value)
    return record


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def read(visits: _FirstVisits, number: int, record: SitemapRecord, new: int) -> None:
    record.state, record.new = SitemapState.VALID, new
    visits.note(key(number), record)


@given(
    st.integers(0, 300),
    st.lists(
        st.tuples(st.integers(1, 200), st.floats(0, DAY / 2), st.sampled_from([0, 0, 0, 1, 50])),
        max_size=30,
    ),
)
def test_guarantee(budget: int, steps: list[tuple[int, float, int]]) -> None:
    """Whatever is named, read and found: the sitemaps of 24 hours that nothing has paid for are within the budget."""
    visits, now, unpaid, links, asked = _FirstVisits(budget), 1e9, [], 0, count()
    for wanted, pause, new in steps:
        lot = []
        for _ in range(wanted):
            if not visits.room(HOST, now):
                break
            number = next(asked)
            unpaid += [now] if number >= links else []
            lot.append((number, named(number, now)))
            visits.note(key(number), lot[-1][1])
        for number, record in lot:
            read(visits, number, record, new)
            links += new
        now += pause
    for at in unpaid:
        assert sum(at <= other < at + DAY for other in unpaid) <= max(budget, FREE)


def test_lots() -> None:
    """What is not paid for comes in lots, each when the one before has been read; what is paid for, at once."""
    visits = _FirstVisits(500)
    records = [named(number, 1e9) for number in range(FREE)]
    for number, record in enumerate(records):
        assert visits.room(HOST, 1e9) == FREE - number
        visits.note(key(number), record)
    assert (visits.room(HOST, 1e9), visits.owes(HOST)) == (0, True)
    read(visits, 0, records[0], 0)
    assert visits.room(HOST, 1e9) == 1
    read(visits, 1, records[1], 5000)
    assert (visits.room(HOST, 1e9), visits.owes(HOST)) == (5000 - FREE, False)


def test_sitemaps_of_another_worker() -> None:
    """They count, and nobody waits for them."""
    visits = _FirstVisits(500)
    for number in range(FREE):
        visits.note(key(number), named(number, 1e9))
        visits.passed_on(key(number))
    assert (visits.room(HOST, 1e9), visits.owes(HOST)) == (FREE, True)


def test_no_budget() -> None:
    """Without a budget a site has its first lot."""
    visits = _FirstVisits(0)
    assert visits.room(HOST, 1e9) == FREE
    assert visits.room_from(HOST, 1e9) == NEVER


def test_next_day() -> None:
    """A spent budget has room again a day after the first that took from it."""
    visits = _FirstVisits(200)
    for number in range(200):
        record = named(number, 1e9 + number)
        visits.note(key(number), record)
        read(visits, number, record, 0)
    now = 1e9 + 300
    assert visits.room(HOST, now) == 0
    at = visits.room_from(HOST, now)
    assert at == 1e9 + FREE - 1 + DAY
    assert (visits.room(HOST, at), visits.room_from(HOST, at)) == (FREE, NEVER)


def test_order_of_sources() -> None:
    """First what has paid for itself, then what no index names, at last indexes within indexes."""
    visits = _FirstVisits(500)
    sources = [
        named(1, 1e9, left=3, state=SitemapState.VALID),
        named(2, 1e9, left=2, state=SitemapState.VALID, kind=SitemapKind.ROBOTS, how=How.HAND),
        named(3, 1e9, left=1, state=SitemapState.VALID),
    ]
    for number, source in enumerate(sources, 1):
        visits.note(key(number), source)
    assert [visits.room(HOST, 1e9, source) for source in sources] == [0, FREE, 0]
    visits.note(key(4), child := named(4, 1e9, parent=sources[2].url))
    assert (visits.left, visits.resumable(HOST, 1e9)) == (6, [])
    read(visits, 4, child, 9)
    assert visits.resumable(HOST, 1e9) == [key(3), key(2), key(1)]
    sources[2].left = 0
    visits.note(key(3), sources[2])
    visits.resumed(key(3), sources[2])
    assert visits.resumable(HOST, 1e9 + DAY) == [key(2), key(1)]  # what has come pays for that
    visits.note(key(3), sources[2])
    assert (visits.left, visits.resumable(HOST, 1e9)) == (5, [key(2), key(1)])


def test_who_pays() -> None:
    """The site of the first host that vouches for a sitemap."""
    visits = _FirstVisits(500)
    visits.note(key(1), named(1, 1e9, vouchers=["www.b.com", "c.com"]))
    assert (visits.room("b.com", 1e9), visits.room(HOST, 1e9)) == (FREE - 1, FREE)
