"""Rules take away what does not matter, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import CorruptFile
from sitecrawl.dust.parts import split
from sitecrawl.dust.rules import (
    CaseFold,
    DropKey,
    DropSegment,
    DropSuffix,
    Mirror,
    RuleSet,
    TrailingSlash,
    difference,
    unpack,
)

A = "http://a.example"
segments = st.sampled_from(["a", "B", "b", "p17", "x.php", "index.html", "*", "s%2Fx", "f3", "S"])
keys = st.sampled_from(["t=1", "t=2", "sid=9", "sid", "view=print", "start=0", "Z=%C3%A4"])
places = st.sampled_from(["/", "/*", "/a", "/*/*", "/a/*", "/*/*/*", "/x.php", "/*/x.php", "/*/*.html"])
positions = st.integers(0, 3)
hosts = st.sampled_from([A, "http://www.a.example", "https://a.example"])
rules = st.one_of(
    st.builds(DropKey, places, st.sampled_from(["t", "sid", "view", "start", ";v"])),
    st.builds(DropKey, places, st.just("start"), st.just("0")),
    st.builds(DropSegment, places, positions, st.booleans()),
    st.just(DropSuffix("index.html")),
    st.just(TrailingSlash()),
    st.just(CaseFold()),
    st.builds(Mirror, hosts, hosts).filter(lambda mirror: mirror.origin != mirror.other),
)


@st.composite
def urls(draw):
    path = "/".join(draw(st.lists(segments, max_size=5)))
    query = "&".join(draw(st.lists(keys, max_size=4)))
    end = draw(st.sampled_from(["", "/", ";v=1"])) if path else ""
    return f"{draw(hosts)}/{path}{end}" + (f"?{query}" if query else "")


@given(urls(), st.lists(rules, max_size=8), st.sets(st.integers(0, 7)))
def test_the_form_of_a_form_is_the_form(url, chosen, shut):
    """However many rules there are, wherever they are closed: what names a class is in that class."""
    closed = {(rule, split(url).stratum()) for n, rule in enumerate(chosen) if n in shut}
    together = RuleSet(chosen, lambda rule, parts: (rule, rule.stratum(parts)) not in closed)
    form, used = together.form(split(url))
    assert together.form(split(form.text()))[0].text() == form.text()
    assert bool(used) == (form.text() != split(url).text())
    assert used.keys() <= set(chosen)


@given(urls(), urls())
def test_a_difference_makes_one_class_of_two(url, other):
    """Each rule that a pair suggests puts both URLs into one class."""
    one, two = split(url), split(other)
    for rule in difference(one, two):
        together = RuleSet([rule])
        assert rule.covers(one)
        assert rule.covers(two)
        assert (rule.apply(one) or one).text() == (rule.apply(two) or two).text()
        assert together.form(one)[0].text() == together.form(two)[0].text()


@given(rules)
def test_packing(rule):
    """A rule comes back as it was, and says what it is."""
    assert unpack(rule.pack()) == rule
    assert str(rule)
    assert rule.subject


@pytest.mark.parametrize(
    "packed",
    [
        (),
        ("",),
        ("key",),
        ("key", "/"),
        ("segment", "/", "x", ""),
        ("other", "x"),
        ("slash", "x"),
        ("key", 1, 2),
        (7,),
    ],
)
def test_what_is_no_rule(packed):
    """What no rule gave is a corrupt file."""
    with pytest.raises(CorruptFile):
        unpack(packed)


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


def test_mirrors_in_a_circle():
    """Two hosts that are each other's mirror: one of them stays."""
    together = RuleSet([Mirror(A, "http://b.example"), Mirror("http://b.example", A)])
    forms = {together.form(split(f"{host}/x"))[0].text() for host in (A, "http://b.example")}
    assert len(forms) == 1


def test_escapes_keep_their_case():
    """Percent-encoded octets are written in upper case, also where letters are folded."""
    assert RuleSet([CaseFold()]).form(split(f"{A}/X%C3%A4Y"))[0].text() == f"{A}/x%C3%A4y"


def test_the_wide_rule_and_a_place_where_it_does_not_hold():
    """`opens` shuts a rule for a URL, and only there."""
    rule = DropKey("/*/*", "page")
    together = RuleSet([rule], lambda rule, parts: parts.places[0] != "/list/*")
    assert together.form(split(f"{A}/list/1?page=2"))[0].text() == f"{A}/list/1?page=2"
    assert together.form(split(f"{A}/item/1?page=2"))[0].text() == f"{A}/item/1"
