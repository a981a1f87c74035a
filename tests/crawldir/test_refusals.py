"""Which hosts said no: counted, kept, and read again whatever stands there."""

from __future__ import annotations

import msgpack
import pytest

from sitecrawl.crawldir import outcomes
from sitecrawl.crawldir.outcomes import HostRefusals, RefusalTotals


def some() -> RefusalTotals:
    totals = RefusalTotals()
    for host, kind, by in (("a", "challenge", "Anubis"), ("b", "login_wall", ""), ("b", "challenge", "X")):
        totals.add(host, kind, by)
    assert totals.add("b", "challenge") == 2
    return totals


def test_they_are_counted() -> None:
    """By host and kind, the most frequent first; who it was is remembered."""
    totals = some()
    rows = [
        HostRefusals("b", "challenge", 2, "X"),
        HostRefusals("a", "challenge", 1, "Anubis"),
        HostRefusals("b", "login_wall", 1, ""),
    ]
    assert totals.rows() == rows
    assert totals.rows("login_wall") == rows[2:]
    assert totals.of("b") == [rows[0], rows[2]]
    assert totals.of("c") == []
    assert len(totals) == 2


def test_they_are_kept() -> None:
    """What is packed is read again, and goes on."""
    again = RefusalTotals.unpack(some().pack())
    assert again.rows() == some().rows()
    assert again.add("a", "challenge") == 2


@pytest.mark.parametrize(
    "data", [None, b"", b"\xc1", msgpack.packb([1]), msgpack.packb({"a": 1}), msgpack.packb({"a": {"b": [1]}})]
)
def test_what_cannot_be_read(data: bytes | None) -> None:
    """It is nothing: a crawl does not end for what is only shown."""
    assert RefusalTotals.unpack(data).rows() == []


def test_there_is_an_end_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more hosts than that nothing is remembered."""
    monkeypatch.setattr(outcomes, "MAX_HOSTS", 2)
    totals = some()
    assert totals.add("c", "challenge") == 0
    assert totals.add("a", "challenge") == 2
    assert len(totals) == 2
