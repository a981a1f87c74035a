"""The ranks that put URLs in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.errors import OptionError
from sitecrawl.frontier.order import BreadthFirst, DepthFirst, goes_first, goes_last, level_of, order_named
from sitecrawl.frontier.record import RANK_BYTES

URLS = st.tuples(st.integers(1 - 2**31, 2**31), st.integers(0, 0xFFFF), st.integers(1, 2**47))
"""Priority, depth, serial number."""


def rank(order, url):
    priority, depth, serial = url
    return order.rank(depth=depth, priority=priority, serial=serial)


@given(URLS, URLS)
def test_breadth_first(one, other):
    """The greatest priority goes first, then the least depth, then what was found first."""
    order = BreadthFirst()
    expected = (-one[0], *one[1:]) < (-other[0], *other[1:])
    assert (rank(order, one) < rank(order, other)) == expected


@given(URLS, URLS)
def test_depth_first(one, other):
    """The greatest priority goes first, then what was found last."""
    order = DepthFirst()
    assert (rank(order, one) < rank(order, other)) == ((-one[0], -one[2]) < (-other[0], -other[2]))


@given(st.integers(-(10**30), 10**30), st.integers(0, 10**9))
def test_beyond_the_scale(priority, depth):
    """Priorities and depths beyond what a rank has room for count as the greatest or least that it has."""
    for order in (BreadthFirst(), DepthFirst()):
        assert len(order.rank(depth=depth, priority=priority, serial=1)) == RANK_BYTES


@given(URLS)
def test_a_rank_can_be_read(url):
    """A rank tells its level, and whether the URL goes before or after the links."""
    found = rank(BreadthFirst(), url)
    assert level_of(found) == url[1]
    assert level_of(rank(DepthFirst(), url)) == 0
    assert (goes_first(found), goes_last(found)) == (url[0] > 0, url[0] < 0)


def test_unknown_order():
    """An order that there is not names those that there are."""
    with pytest.raises(OptionError, match="bfs, dfs"):
        order_named("best")
