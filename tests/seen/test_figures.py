"""The figures of the URL-seen test: they add up, and what is no figure is none."""

from __future__ import annotations

from dataclasses import asdict, fields

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.frontier.seen.figures import SeenFigures

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
