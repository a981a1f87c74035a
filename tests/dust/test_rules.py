"""Rules take away what does not matter, and nothing else."""

from __future__ import annotations

import pytest
from dust_strategies import rules
from hypothesis import given

from sitecrawl.base.errors import CorruptFile
from sitecrawl.dust.rules import unpack


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
