"""The ranks that put URLs in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.urls.order import (
    ORDERS,
    Aopic,
    BestFirst,
    BreadthFirst,
    DepthFirst,
    Facts,
    class_credit,
    credit_class,
    goes_first,
    goes_last,
    level_of,
    order_named,
    priority_of,
    raised_rank,
    serial_of,
    with_priority,
)
from sitecrawl.frontier.urls.record import RANK_BYTES

URLS = st.tuples(st.integers(1 - 2**31, 2**31), st.integers(0, 0xFFFF), st.integers(1, 2**47))
"""Priority, depth, serial number."""
CREDITS = st.integers(1, 10**18)


def rank(order, url):
    priority, depth, serial = url
    return order.rank(Facts(depth, serial, priority))


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
    for order in ORDERS:
        facts = Facts(depth, 1, priority, credit=2**63, score=1e308)
        assert len(order_named(order).rank(facts)) == RANK_BYTES


@given(URLS)
def test_a_rank_can_be_read(url):
    """A rank tells its level and priority, and whether the URL goes before or after the links."""
    found = rank(BreadthFirst(), url)
    assert priority_of(found) == url[0]
    assert level_of(found) == url[1]
    assert level_of(rank(DepthFirst(), url)) == 0
    assert (goes_first(found), goes_last(found)) == (url[0] > 0, url[0] < 0)


def test_unknown_order():
    """An order that there is not names those that there are."""
    with pytest.raises(OptionError, match="aopic, aopic-published, best, bfs, dfs"):
        order_named("worst")


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_best_first(one, other):
    """Of two scores the greater goes first; those that differ in the last bits may count as equal."""
    first, second = (BestFirst().rank(Facts(0, 1, score=score)) for score in (one, other))
    if first < second:
        assert one > other
    if one > other:
        assert first <= second


@given(CREDITS, CREDITS)
def test_most_credit_first(one, other):
    """What has twice the credit goes first; less than a factor of 1.4 may count as equal."""
    first, second = (Aopic().rank(Facts(0, 1, credit=credit)) for credit in (one, other))
    if one >= 2 * other:
        assert first < second
    if first < second:
        assert one > other


@given(CREDITS, st.integers(1, 2**32 - 1), st.integers(1, 2**32 - 1))
def test_equal_credit(credit, one, other):
    """Of one class of credit, what was found first goes first."""
    first, second = (Aopic().rank(Facts(0, serial, credit=credit)) for serial in (one, other))
    assert (first < second) == (one < other)
    assert serial_of(first) == one


@given(CREDITS)
def test_a_class_begins_with_its_least_credit(credit):
    """What is read off a rank is at most the credit, and at least 70% of it."""
    read = class_credit(Aopic().rank(Facts(0, 1, credit=credit)))
    assert read <= credit * (1 + 1e-9)
    assert read >= credit * 0.7


@given(st.integers(0, 2**63))
def test_classes_are_half_octaves(credit):
    """The class is twice the binary logarithm, rounded down, plus one; exact where a float is not."""
    number = credit_class(credit)
    if credit == 0:
        assert number == 0
    else:
        assert 2 ** (number - 1) <= credit**2 < 2**number


@pytest.mark.parametrize("order", sorted(ORDERS))
@given(one=st.integers(-5, 5), other=st.integers(-5, 5))
def test_a_priority_rules(order, one, other):
    """A spider's priority goes before whatever credit or score."""
    order = order_named(order)
    poor = order.rank(Facts(0, 1, one))
    rich = order.rank(Facts(0, 2, other, credit=10**18, score=10.0))
    if one > other:
        assert poor < rich


@pytest.mark.parametrize("order", ["aopic", "best"])
def test_levels_come_before_credit(order):
    """With an exact depth limit the level rules, and credit or score inside of it."""
    order = order_named(order, by_level=True)
    ranks = [order.rank(Facts(depth, 1, credit=c, score=c)) for depth, c in [(1, 9), (1, 2), (2, 99), (2, 9)]]
    assert ranks == sorted(ranks)
    assert [level_of(rank) for rank in ranks] == [1, 1, 2, 2]


def test_another_priority_keeps_the_rest_of_the_rank() -> None:
    """In every order, a rank with another priority is that of the same URL asked for with it."""
    for name in ORDERS:
        order = order_named(name)
        low, high = (order.rank(Facts(3, 7, priority, credit=99, score=0.5)) for priority in (-2, 5))
        assert with_priority(low, 5) == high
        assert priority_of(with_priority(high, -2)) == -2


@given(URLS, st.integers(-(10**18), 10**18), st.integers(-(10**18), 10**18), st.booleans())
def test_other_credit_keeps_the_rest_of_the_rank(
    url: tuple[int, int, int], before: int, after: int, by_level: bool
) -> None:
    """A rank with more credit is that of the same URL which has had it from the first."""
    priority, depth, serial = url
    order = order_named("aopic", by_level=by_level)
    first, second = (order.rank(Facts(depth, serial, priority, credit)) for credit in (before, after))
    assert raised_rank(first, after) == (second if second < first else None)
