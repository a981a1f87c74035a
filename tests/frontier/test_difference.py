"""What two URLs of one content differ in is what a rule takes away, all of it together."""

from __future__ import annotations

import pytest
from dust_strategies import A, drop, mirror, urls
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.frontier.forms.difference import difference, nearest
from sitecrawl.frontier.forms.parts import split
from sitecrawl.frontier.forms.rule_set import RuleSet
from sitecrawl.frontier.forms.rules import CASE, INDEX, SLASH, Rule, unpack

odd = st.text("/;=&?+*-01aB.()", max_size=12)


@given(urls(), urls())
def test_a_difference_makes_one_class_of_two(url, other):
    """Each rule that a pair suggests puts both URLs into one class."""
    one, two = split(url), split(other)
    for rule in difference(one, two):
        together = RuleSet([rule])
        assert rule.covers(one)
        assert rule.covers(two)
        assert rule.form(one).text() == rule.form(two).text()
        assert together.form(one)[0].text() == together.form(two)[0].text()


@given(odd, odd)
def test_any_two_urls_can_be_compared(path, other):
    """Signs that mean something in rules may stand anywhere in a URL: what two suggest can be stored and applied."""
    one, two = split(f"{A}/{path}"), split(f"{A}/{other}")
    for rule in difference(one, two):
        assert unpack(rule.pack()) == rule
        assert rule.covers(one)
        assert rule.form(rule.form(two)).text() == rule.form(two).text()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("/x.php?t=1&q=5", "/x.php?t=1&q=6", [drop("/x.php", "q")]),
        ("/x.php?t=1&q=5", "/x.php?t=1", [drop("/x.php", "q"), drop("/x.php", "q=5")]),
        ("/p/17?q=5", "/p/17?q=6", [drop("/p/*", "q"), drop("/*/*", "q")]),
        ("/f3/p/1", "/f4/p/1", [drop("/p/*", "/0"), drop("/*/*", "/0")]),
        ("/f3/", "/", [drop("/", "/0-")]),
        ("/(S(f3))/x.php", "/x.php", [drop("/x.php", "/0-")]),
        ("/x.php;v=1?t=1", "/x.php;v=2?t=1", [drop("/x.php", ";v")]),
        ("/a/index.html", "/a/", [Rule(INDEX, what=("index.html",))]),
        ("/a", "/a/", [Rule(SLASH)]),
        ("/About/Us", "/about/us", [Rule(CASE)]),
        ("/x.php?a=1&b=1&c=1&t=1", "/x.php?a=2&b=2&c=2&t=1", [drop("/x.php", "a", "b", "c")]),
        ("/x.php?a=1&b=1&t=1", "/x.php?t=1", [drop("/x.php", "a", "b")]),
        ("/p/17?q=5&r=1", "/p/18?q=6", [drop("/p", "q", "r", "/1"), drop("/*", "q", "r", "/1")]),
        ("/(S(f3))/x.php?r=1", "/x.php?r=2", [drop("/x.php", "r", "/0-")]),
        ("/x.php?t=1", "/y.php?t=2", [drop("/", "t", "/0")]),
        ("/x.php?/p/1", "/x.php?/p/2", [drop("/x.php", "&/p/1", "&/p/2")]),
        ("/x.php?/0=1", "/x.php?/0=2", [drop("/x.php", "&/0")]),
        ("/x.php?=1", "/x.php", [drop("/x.php", "&"), drop("/x.php", "&=1")]),
        ("/x.php?t", "/x.php", [drop("/x.php", "t")]),
        ("/a/b/c", "/d/e/c", []),
        ("/a/b/c", "/c", []),
        ("/a", "/a", []),
    ],
)
def test_what_two_urls_differ_in(one, other, expected):
    """Keys and at most one path segment, or how the path is spelled; or nothing that could be learnt from."""
    assert difference(split(A + one), split(A + other)) == expected
    assert len(difference(split(A + other), split(A + one))) == len(expected)


def test_hosts():
    """Two hosts that have one path."""
    assert difference(split("http://www.a.example/x"), split(f"{A}/x")) == [mirror("http://www.a.example", A)]
    assert difference(split("http://www.a.example/x"), split(f"{A}/y")) == []


def test_the_nearest_of_a_set():
    """Of pages with one content those are looked at first that differ in the least; those without a rule are not."""
    page = split(f"{A}/x.php?a=1&b=1&c=1")
    far, near, other = (split(A + path) for path in ("/x.php?a=2&b=2&c=2", "/x.php?a=1&b=1&c=2", "/a/b/c/x.php"))
    assert nearest(page, [far, other, near, page]) == [near, far]
