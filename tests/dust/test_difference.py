"""What two URLs differ in, if it is one thing, is what a rule takes away."""

from __future__ import annotations

import pytest
from dust_strategies import A, urls
from hypothesis import given

from sitecrawl.dust.difference import difference
from sitecrawl.dust.parts import split
from sitecrawl.dust.rule_set import RuleSet
from sitecrawl.dust.rules import CaseFold, DropKey, DropSegment, DropSuffix, Mirror, TrailingSlash


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


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("/x.php?t=1&q=5", "/x.php?t=1&q=6", [DropKey("/x.php", "q")]),
        ("/x.php?t=1&q=5", "/x.php?t=1", [DropKey("/x.php", "q"), DropKey("/x.php", "q", "5")]),
        ("/p/17?q=5", "/p/17?q=6", [DropKey("/p/*", "q"), DropKey("/*/*", "q")]),
        ("/f3/p/1", "/f4/p/1", [DropSegment("/p/*", 0), DropSegment("/*/*", 0)]),
        ("/f3/", "/", [DropSegment("/", 0, away=True)]),
        ("/(S(f3))/x.php", "/x.php", [DropSegment("/x.php", 0, away=True)]),
        ("/x.php;v=1?t=1", "/x.php;v=2?t=1", [DropKey("/x.php", ";v")]),
        ("/a/index.html", "/a/", [DropSuffix("index.html")]),
        ("/a", "/a/", [TrailingSlash()]),
        ("/About/Us", "/about/us", [CaseFold()]),
        ("/x.php?t=1&q=5", "/x.php?t=2&q=6", []),
        ("/x.php?t=1", "/y.php?t=2", []),
        ("/a/b/c", "/d/e/c", []),
        ("/a/b/c", "/c", []),
        ("/a", "/a", []),
    ],
)
def test_what_two_urls_differ_in(one, other, expected):
    """One thing, or nothing that could be learnt from."""
    assert difference(split(A + one), split(A + other)) == expected
    assert len(difference(split(A + other), split(A + one))) == len(expected)


def test_hosts():
    """Two hosts that have one path."""
    assert difference(split("http://www.a.example/x"), split(f"{A}/x")) == [Mirror("http://www.a.example", A)]
    assert difference(split("http://www.a.example/x"), split(f"{A}/y")) == []
