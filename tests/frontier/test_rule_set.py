"""Rules that hold together leave one URL of each class."""

from __future__ import annotations

from dust_strategies import A, drop, mirror, rules, urls
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.frontier.forms.parts import split
from sitecrawl.frontier.forms.rule_set import RuleSet
from sitecrawl.frontier.forms.rules import CASE, Rule


@given(urls(), st.lists(rules, max_size=8), st.sets(st.integers(0, 7)))
def test_the_form_of_a_form_is_the_form(url, chosen, shut):
    """However many rules there are, wherever they are closed: what names a class is in that class."""
    closed = {(rule, rule.stratum(split(url))) for n, rule in enumerate(chosen) if n in shut}
    together = RuleSet(chosen, lambda rule, parts: (rule, rule.stratum(parts)) not in closed)
    form, used = together.form(split(url))
    assert together.form(split(form.text()))[0].text() == form.text()
    assert bool(used) == (form.text() != split(url).text())
    assert used.keys() <= set(chosen)


def test_mirrors_in_a_circle():
    """Two hosts that are each other's mirror: one of them stays."""
    together = RuleSet([mirror(A, "http://b.example"), mirror("http://b.example", A)])
    forms = {together.form(split(f"{host}/x"))[0].text() for host in (A, "http://b.example")}
    assert len(forms) == 1


def test_escapes_keep_their_case():
    """Percent-encoded octets are written in upper case, also where letters are folded."""
    assert RuleSet([Rule(CASE)]).form(split(f"{A}/X%C3%A4Y"))[0].text() == f"{A}/x%C3%A4y"


def test_the_wide_rule_and_a_place_where_it_does_not_hold():
    """`opens` shuts a rule for a URL, and only there."""
    rule = drop("/*/*", "page")
    together = RuleSet([rule], lambda rule, parts: parts.places[0] != "/list/*")
    assert together.form(split(f"{A}/list/1?page=2"))[0].text() == f"{A}/list/1?page=2"
    assert together.form(split(f"{A}/item/1?page=2"))[0].text() == f"{A}/item/1"


def test_slots_together():
    """What a rule takes away it takes away together or alone, and whatever else is there stays."""
    together = RuleSet([drop("/p/*", "a", "b", "/0-")])
    for path in ("/s1/p/7?a=1&b=2&t=3", "/s2/p/7?b=9&t=3", "/p/7?a=1&t=3"):
        assert together.form(split(A + path))[0].text() == f"{A}/p/7?t=3"
    assert not together.form(split(f"{A}/q/7?a=1"))[1]
