"""The figures of the URL-seen test: they add up, and what is no figure is none."""

from __future__ import annotations

from dataclasses import asdict, fields

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.seen.figures import SeenFigures

FIGURES = st.builds(SeenFigures, **{one.name: st.integers(0, 1 << 50) for one in fields(SeenFigures)})


@given(FIGURES)
def test_they_come_back(figures: SeenFigures) -> None:
    """What was packed is read again."""
    assert SeenFigures.unpack(figures.pack()) == figures


@given(FIGURES, FIGURES)
def test_runs_add_up(one: SeenFigures, other: SeenFigures) -> None:
    """Each figure of two runs is the sum of both, and so is the number of tests."""
    both = one + other
    assert both.asked == one.asked + other.asked
    assert asdict(both) == {name: n + asdict(other)[name] for name, n in asdict(one).items()}


@pytest.mark.parametrize(
    "data", [None, b"", b"\xc1", b"\x93\x01\x02\x03", msgpack.packb({"new": -1, "cache_hits": "many", "more": 5})]
)
def test_what_is_none_is_nothing(data: bytes | None) -> None:
    """A crawl does not depend on them: damage is no error."""
    assert SeenFigures.unpack(data) == SeenFigures()


@given(st.binary(max_size=60))
def test_no_bytes_are_an_error(data: bytes) -> None:
    """Whatever is there, there are figures, and none is below 0."""
    assert min(asdict(SeenFigures.unpack(data)).values()) >= 0


def test_rows_say_what_mercator_says() -> None:
    """Hit rates of all tests, and reads a test; what never answers is not named but for the three tiers."""
    rows = {
        name: (n, about)
        for name, n, about in SeenFigures(cache_hits=662, recent_hits=95, disk_lookups=243, disk_reads=160).rows()
    }
    assert rows["tests"][0] == 1000
    assert rows["cache"] == (662, "66.2%: popular URLs")
    assert rows["recent"][1].startswith("9.5%: ")
    assert rows["reads"][1].endswith("0.16 a test")
    assert rows.keys() == {"tests", "cache", "recent", "disk", "reads"}
    assert list(SeenFigures().rows())[-1][2].endswith("0.00 a test")
