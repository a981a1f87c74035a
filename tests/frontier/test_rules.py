"""Rules take away what does not matter, and nothing else."""

from __future__ import annotations

import pytest
from dust_strategies import A, drop, rules
from hypothesis import given

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.forms.parts import split
from sitecrawl.frontier.forms.rules import unpack


@given(rules)
def test_packing(rule):
    """A rule comes back as it was, and says what it is."""
    assert unpack(rule.pack()) == rule
    assert str(rule)


@pytest.mark.parametrize(
    "packed",
    [
        (),
        ("",),
        ("drop",),
        ("drop", "/"),
        ("drop", "/", ""),
        ("drop", "/", "/x"),
        ("drop", "/", "/"),
        ("other", "x"),
        ("slash", "x"),
        ("mirror", "", "http://a.example"),
        ("drop", 1, 2),
        (7,),
    ],
)
def test_what_is_no_rule(packed):
    """What no rule gave is a corrupt file."""
    with pytest.raises(CorruptFile):
        unpack(packed)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (drop("/x.php", "sid"), 'without "sid" in /x.php'),
        (drop("/*", "a", "b=0", "/1-"), 'without "a", "b=0" and path segment 2 in /*'),
        (drop("/*", "&/0"), 'without "/0" in /*'),
        (drop("/*", "/0"), "without path segment 1 in /*"),
    ],
)
def test_what_a_rule_says(rule, said):
    """A person reads what is taken away, and where."""
    assert str(rule) == said


def test_strata():
    """Evidence is counted by which of the rule's keys are there, and by those beside; their values do not matter."""
    rule = drop("/x.php", "a", "b")
    paths = ("?a=1&t=1", "?a=2&t=2", "?a=1&b=1&t=1", "?a=1&s=1", "?t=1")
    one, same, *others = (rule.stratum(split(f"{A}/x.php{path}")) for path in paths)
    assert one == same
    assert len({one, *others}) == 4
