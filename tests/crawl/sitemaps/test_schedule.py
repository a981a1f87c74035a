"""When sitemaps are visited again: by what they yield, what they cost, and what their word is worth."""

from __future__ import annotations

from collections import Counter

import pytest

from sitecrawl.crawl.sitemap_visit import _claim, _is_recent
from sitecrawl.crawl.sitemaps.locations import How
from sitecrawl.crawl.sitemaps.record import (
    DAY,
    MAX_INTERVAL,
    MIN_INTERVAL,
    NEVER,
    ScheduleOptions,
    SitemapKind,
    SitemapRecord,
    SitemapState,
)

OPTIONS = ScheduleOptions()
HOUR = 3600.0


def watched(news: list[int], every: float = DAY, **facts: object) -> SitemapRecord:
    """A sitemap after visits that brought `news`."""
    record = SitemapRecord("http://a.example/s.xml", "a.example")
    for name, value in facts.items():
        setattr(record, name, value)
    for number, new in enumerate(news):
        record.succeeded(number * every, new=new, seconds=1.0, unchanged=not new)
    return record


def pause(record: SitemapRecord, options: ScheduleOptions = OPTIONS, weights: float = 0.0) -> float:
    return record.interval(weights, options)


def test_more_news_more_visits() -> None:
    """A hundred times the news makes ten times the visits."""
    little, much = watched([0] + [1] * 30), watched([0] + [100] * 30)
    assert pause(little) / pause(much) == pytest.approx(10, rel=0.05)


def test_no_news() -> None:
    """Pauses grow to some days while nothing comes; the first find shortens them at once."""
    record = watched([5, 10])
    pauses = []
    now = DAY
    for _ in range(60):
        pauses.append(pause(record))
        now += pauses[-1]
        record.succeeded(now, new=0, seconds=1.0)
    assert pauses == sorted(pauses)
    assert pauses[0] < DAY / 4
    assert 2 * DAY < pauses[-1] < 5 * DAY
    record.succeeded(now + pauses[-1], new=50, seconds=1.0)
    assert pause(record) < pauses[-1] / 4


def test_the_first_visit_is_no_news() -> None:
    """What a sitemap has listed for years says nothing of how often it changes."""
    assert pause(watched([50_000])) == pause(watched([3]))


def test_not_modified() -> None:
    """Where most visits cost next to nothing there may be more of them."""
    assert pause(watched([0, 1, 0, 0, 0, 1])) < pause(watched([0, 1, 0, 0, 0, 1], unchanged=-4))


def test_bounds() -> None:
    """No sitemap is visited more often than the least interval says, or less than the greatest."""
    assert pause(watched([0] + [100_000] * 9)) == MIN_INTERVAL
    assert pause(watched([0] * 40, every=300 * DAY), ScheduleOptions(price=1e9)) == MAX_INTERVAL


def test_budget() -> None:
    """The visits of a host's sitemaps come to its budget, and those with more news keep the greater share."""
    records = [watched([0] + [new] * 9) for new in (1, 4, 16, 64) * 10]
    weights = sum(record.weight for record in records)
    pauses = [record.interval(weights, ScheduleOptions(budget=40)) for record in records]
    assert sum(DAY / seconds for seconds in pauses) == pytest.approx(40)
    assert pauses[0] / pauses[3] == pytest.approx(8, rel=0.1)
    assert records[0].interval(weights, ScheduleOptions(budget=0)) == MAX_INTERVAL


def test_good_links_count() -> None:
    """Links to pages that nobody wants to have are no reason to come again."""
    assert pause(watched([0, 9, 9], judged=99, good=99)) < pause(watched([0, 9, 9], judged=99, good=0)) / 3


def test_spam_fades_out() -> None:
    """A sitemap of other people's pages is visited less and less, and then no more."""
    spam = {"entries": 0, "alien": 50}
    assert pause(watched([0, 0], **spam)) == MAX_INTERVAL
    assert pause(watched([0] * 5, **spam)) == NEVER
    assert pause(watched([0] * 5, entries=50, alien=50)) < NEVER


def test_failures() -> None:
    """Each failure in a row doubles the pause; what never was a sitemap is given up; a success forgets them."""
    record = watched([0, 5, 5])
    before = pause(record)
    record.failed(3 * DAY, seconds=1.0)
    assert pause(record) == pytest.approx(2 * before)
    for _ in range(2000):
        record.failed(3 * DAY, seconds=1.0)
    assert pause(record) == MAX_INTERVAL
    record.succeeded(4 * DAY, new=5, seconds=1.0)
    assert pause(record) < 2 * before
    none = SitemapRecord("http://a.example/s.xml", "a.example", status=404)
    none.failed(0.0, seconds=1.0)
    assert (none.state, pause(none)) == (SitemapState.INVALID, NEVER)


@pytest.mark.parametrize("status", [0, 429, 500, 503])
def test_no_answer(status: int) -> None:
    """What someone names is asked for again where its host could not say what is there; what was guessed is not."""
    named, guessed = (
        SitemapRecord("http://a.example/s.xml", "a.example", how=how) for how in (How.ROBOTS, How.USUAL)
    )
    for record in (named, guessed):
        record.status = status
        record.failed(0.0, seconds=1.0)
    assert pause(named) <= MAX_INTERVAL
    assert pause(guessed) == NEVER


@pytest.mark.parametrize(
    ("kind", "again"), [(SitemapKind.ROBOTS, True), (SitemapKind.FRONT, True), (SitemapKind.MISSING, False)]
)
def test_kinds(kind: SitemapKind, *, again: bool) -> None:
    """robots.txt and front pages are looked at again also where they named nothing, or could not be had."""
    record = SitemapRecord("http://a.example/", "a.example", kind=kind)
    record.failed(0.0, seconds=1.0)
    assert (pause(record) < NEVER) == again


class TestItsOwnWord:
    def test_dates(self) -> None:
        """The dates of the entries say how often new ones come; those to come, and those long gone, do not."""
        now = 400 * DAY
        dates = [now - day * DAY for day in range(30)] + [now + DAY, 0.0, now - 31 * DAY]
        assert _claim(sum(_is_recent(date, now) for date in dates), Counter(monthly=9)) == pytest.approx(1 / DAY)

    def test_changefreq(self) -> None:
        """Without dates, the most common `changefreq` does."""
        assert _claim(0, Counter(weekly=5, hourly=4)) == pytest.approx(1 / (7 * DAY))
        assert _claim(0, Counter(never=5)) == 0
        assert _claim(0, Counter()) == 0

    def test_it_is_believed_at_first(self) -> None:
        """A sitemap that names many new pages a day is visited sooner after the first visit."""
        assert pause(watched([100], claimed=100 / DAY)) < pause(watched([100])) / 5

    def test_a_liar(self) -> None:
        """What proves wrong is believed less and less, and what proves true stays believed."""
        liar = watched([5] + [0] * 8, every=HOUR, claimed=100 / HOUR)
        honest = watched([5] + [100] * 8, every=HOUR, claimed=100 / HOUR)
        assert liar.trust < 0.25
        assert honest.trust == 1.0
        assert pause(honest) < pause(liar) / 3

    def test_nothing_to_tell(self) -> None:
        """A visit that comes too soon for anything to have happened proves nothing."""
        record = watched([5, 0, 0], every=HOUR, claimed=1 / DAY)
        assert (record.right, record.wrong) == (0.0, 0.0)


class TestIndex:
    def test_news(self) -> None:
        """What its index calls changed since the last visit is visited at once."""
        child, index = watched([5, 5]), watched([5])
        child.next_visit = 9 * DAY
        child.dated(2 * DAY, index, 3 * DAY)
        assert child.next_visit == 3 * DAY

    def test_no_news(self) -> None:
        """What its index calls unchanged waits as long as may be."""
        child, index = watched([5, 5]), watched([5])
        child.next_visit = 2 * DAY
        child.dated(0.5 * DAY, index, 1.5 * DAY)
        assert child.next_visit == DAY + MAX_INTERVAL

    def test_a_lying_index(self) -> None:
        """An index whose word proved wrong changes nothing."""
        child, index = watched([5, 5]), watched([5], wrong=3.0)
        child.next_visit = 2 * DAY
        child.dated(2 * DAY, index, 1.5 * DAY)
        assert child.next_visit == 2 * DAY
