"""MD5 modulo n with the n that is given."""

from __future__ import annotations

from hashlib import md5

import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.seen.bloom import ScalableBloom
from sitecrawl.frontier.seen.bloom_kinds import kind_named


def test_one_table() -> None:
    """A key sets the bit that its MD5 names, modulo n, and is lost where another one has set it; it never grows."""
    bits = 1009
    table = ScalableBloom(kind_named(f"md5:{bits}"), capacity=1, error_rate=0.01)
    keys = [number.to_bytes(16, "big") for number in range(700)]
    places, lost = set[int](), 0
    for key in keys:
        place = int.from_bytes(md5(key, usedforsecurity=False).digest(), "big") % bits
        (seen,) = table.contains_many([key])
        assert seen == (place in places)
        lost += seen
        places.add(place)
        table.add_many([key])
    assert lost == len(keys) - len(places)
    assert table.memory() < bits // 8 + 16
    assert (table.title, table.error_rate) == ("MD5 modulo 1,009", 1.0)


@pytest.mark.parametrize("name", ["md5:", "md5:0", "md5:x", "md4"])
def test_names(name: str) -> None:
    """One line says which there are."""
    with pytest.raises(OptionError, match=r"or md5:N for a table of N bits"):
        kind_named(name)
