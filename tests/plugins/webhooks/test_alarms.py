"""When something is told: once when it begins, and once when it is over."""

from __future__ import annotations

from sitecrawl.plugins.webhooks.courier import Event
from sitecrawl.plugins.webhooks.extension import _LEAST, _ErrorAlarm, _StallAlarm


class TestStall:
    def test_once_until_it_goes_on(self) -> None:
        """Told after so many seconds without a fetch, and again only when one has come meanwhile."""
        alarm = _StallAlarm(10, 0)
        told = [
            alarm.look(now, fetched, may_fetch=True) for now, fetched in ((0, 1), (9, 1), (11, 1), (60, 1), (61, 2))
        ]
        assert told == [None, None, Event.STALL, None, Event.RESUMED]
        assert alarm.look(75, 2, may_fetch=True) is Event.STALL

    def test_nothing_to_fetch(self) -> None:
        """A crawl that has nothing to fetch, or is paused by hand, does not stall, however long that lasts."""
        alarm = _StallAlarm(10, 0)
        assert [alarm.look(now, 1, may_fetch=False) for now in (0, 50, 100)] == [None] * 3
        assert alarm.look(105, 1, may_fetch=True) is None
        assert alarm.look(111, 1, may_fetch=True) is Event.STALL

    def test_nothing_to_fetch_is_no_end_of_it(self) -> None:
        """A stall ends with a fetch, and not because somebody pauses the crawl."""
        alarm = _StallAlarm(10, 0)
        assert [alarm.look(now, 0, may_fetch=True) for now in (0, 10)] == [None, Event.STALL]
        assert alarm.look(11, 0, may_fetch=False) is None
        assert alarm.look(12, 1, may_fetch=False) is Event.RESUMED


class TestErrors:
    def test_above_and_far_below(self) -> None:
        """Told above the threshold, and over below half of it: a share about the threshold is one alarm."""
        alarm, told = _ErrorAlarm(0.5, 60, 0), []
        attempts = errors = 0
        for minute, of_hundred in enumerate((10, 60, 45, 55, 45, 20, 60), start=1):
            attempts, errors = attempts + 100, errors + of_hundred
            told.append(alarm.look(60 * minute, attempts, errors))
        assert told == [None, Event.ERRORS, None, None, None, Event.RECOVERED, Event.ERRORS]
        assert alarm.share == 0.6

    def test_a_few_say_nothing(self) -> None:
        """Two errors of two fetches are no alarm."""
        alarm = _ErrorAlarm(0.5, 60, 0)
        assert alarm.look(1, _LEAST - 1, _LEAST - 1) is None
        assert alarm.look(2, _LEAST, _LEAST) is Event.ERRORS

    def test_what_is_long_ago(self) -> None:
        """Only the window counts, not the good hours before it."""
        alarm = _ErrorAlarm(0.5, 60, 0)
        assert alarm.look(3600, 100_000, 0) is None
        assert [alarm.look(3600 + 2 * n, 100_000 + n, n) for n in range(1, _LEAST + 1)][-1] is None
        assert alarm.look(3700, 100_100, 100) is Event.ERRORS

    def test_bounded(self) -> None:
        """A window has so many samples, however often one looks."""
        alarm = _ErrorAlarm(0.5, 60, 0)
        for tick in range(20_000):
            alarm.look(tick / 100, tick, 0)
        assert len(alarm._samples) < 70

    def test_more_errors_than_fetches(self) -> None:
        """A page on which the spider's code breaks, too, counts twice; no share is above 1."""
        alarm = _ErrorAlarm(0.5, 60, 0)
        alarm.look(1, _LEAST, 2 * _LEAST)
        assert alarm.share == 1
