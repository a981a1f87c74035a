"""The history stays small, keeps totals true, and refuses what it did not write."""

from __future__ import annotations

import itertools
import math
import struct

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import CorruptFile, FormatMismatch
from sitecrawl.crawldir.history import History


def filled(seconds: int, capacity: int = 10) -> History:
    history = History(["fetched"], capacity=capacity)
    for second in range(seconds):
        history.add(1000.0 + second, {"fetched": 3.0 * second})
    return history


class TestGrowth:
    def test_every_point_while_there_is_room(self) -> None:
        """A short crawl is known second by second."""
        assert filled(10).series() == {"t": [1000.0 + n for n in range(10)], "fetched": [3.0 * n for n in range(10)]}

    @given(st.integers(1, 5000))
    def test_bounded_and_true(self, seconds: int) -> None:
        """Whatever its length, a crawl has at most `capacity` points and the newest; every speed is the true mean."""
        history = filled(seconds)
        points = history.points()
        assert len(points) <= 11
        assert points[0] == (1000.0, 0.0)
        assert points[-1] == (1000.0 + seconds - 1, 3.0 * (seconds - 1))
        assert all(b[1] - a[1] == 3 * (b[0] - a[0]) for a, b in itertools.pairwise(points))

    def test_points_stay_evenly_spread(self) -> None:
        """Old points are not sparser than new ones."""
        times = [point[0] for point in filled(4000).points()][:-1]
        assert len({b - a for a, b in itertools.pairwise(times)}) == 1

    def test_a_clock_that_was_put_back(self) -> None:
        """Time never runs backwards in what is drawn."""
        history = filled(5)
        history.add(500.0, {"fetched": 99.0})
        assert history.last() == {"fetched": 12.0}

    def test_what_is_not_known(self) -> None:
        """A figure that was not there is None, not zero."""
        history = History(["a", "b"])
        history.add(1.0, {"a": 1.0})
        assert history.series() == {"t": [1.0], "a": [1.0], "b": [None]}
        assert history.last() == {"a": 1.0}

    @pytest.mark.parametrize("seconds", [5, 500])
    def test_a_pause_is_a_gap(self, seconds: int) -> None:
        """Between two runs no value is known, so that no line is drawn there; within one there is no gap."""
        history = filled(seconds)
        assert None not in history.series()["fetched"]
        later = 1000.0 + 20 * seconds
        history.add(later, {"fetched": 3.0 * seconds})
        series = history.series()
        assert series["fetched"].count(None) == 1
        gap = series["fetched"].index(None)
        times = [at for at in series["t"] if at is not None]
        assert times == sorted(times)
        assert (times[gap + 1], len(times)) == (later, len(history) + 1)

    def test_without_points(self) -> None:
        """Nothing has no last values."""
        assert (History(["a"]).last(), len(History(["a"]))) == ({}, 0)


class TestStored:
    def test_round_trip(self) -> None:
        """It goes on where it was."""
        history = filled(1000)
        again = History.unpack(history.pack(), capacity=10)
        assert again.points() == history.points()
        assert again.interval == history.interval
        again.add(2000.0, {"fetched": 1.0})
        assert again.points()[-1] == (2000.0, 1.0)

    def test_other_columns(self) -> None:
        """A later version knows more figures: old points lack them, and nothing else is lost."""
        again = History.unpack(filled(3).pack(), ["new", "fetched"])
        assert again.series() == {"t": [1000.0, 1001.0, 1002.0], "new": [None] * 3, "fetched": [0.0, 3.0, 6.0]}

    def test_less_room(self) -> None:
        """A history with more points than are wanted is thinned out."""
        again = History.unpack(filled(100, capacity=200).pack(), capacity=10)
        assert len(again) <= 10
        assert again.points()[0][0] == 1000.0

    def test_size(self) -> None:
        """A full history of twenty figures is about a hundred kilobytes, however long the crawl."""
        history = History([f"column{n}" for n in range(19)])
        for second in range(3000):
            history.add(float(second), {})
        assert len(history.pack()) < 120_000

    @pytest.mark.parametrize(
        "changed",
        [
            {"points": b"123"},
            {"points": "text"},
            {"interval": -1.0},
            {"interval": math.nan},
            {"interval": "x"},
            {"columns": 7},
        ],
    )
    def test_damage(self, changed: dict[str, object]) -> None:
        """Bytes that no history wrote are named, and never an empty history."""
        sound = {"format": 1, "interval": 1.0, "columns": ["a"], "points": struct.pack(">2d", 1, 2)}
        with pytest.raises(CorruptFile):
            History.unpack(msgpack.packb(sound | changed))

    @given(st.binary(max_size=40))
    def test_any_bytes(self, data: bytes) -> None:
        """No bytes end in another error."""
        with pytest.raises(CorruptFile):
            History.unpack(data)

    def test_another_version(self) -> None:
        """It says which version it is of."""
        with pytest.raises(FormatMismatch, match="format 2"):
            History.unpack(msgpack.packb({"format": 2}))
