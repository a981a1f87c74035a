"""What is on disk of a URL, a host and the counts: back as it went, and never half."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import CorruptFile
from sitecrawl.frontier.urls.counts import Counts
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.record import MAX_DEPTH, MAX_STATUS, RANK_BYTES, UrlRecord, UrlState

COUNTS = st.integers(0, 2**63)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
RECORDS = st.builds(
    UrlRecord,
    url=TEXT,
    host=st.binary(min_size=8, max_size=8),
    section=st.binary(min_size=4, max_size=4),
    depth=st.integers(0, MAX_DEPTH),
    rank=st.binary(min_size=RANK_BYTES, max_size=RANK_BYTES),
    referrer=st.binary(min_size=16, max_size=16),
    state=st.sampled_from(UrlState),
    flags=st.integers(0, 127),
    status=st.integers(0, MAX_STATUS),
    attempts=st.integers(0, 0xFFFF),
    cause=st.integers(0, 255),
    fetched=st.floats(allow_nan=False),
    credit=COUNTS,
    mark=COUNTS,
    history=st.floats(0, allow_nan=False),
)


class Meta(dict[bytes, bytes]):
    """Stands in for the `meta` family."""

    def put(self, key, value):
        self[key] = value


@given(RECORDS)
def test_a_record_comes_back_as_it_went(record):
    """Every record is equal to what its bytes say."""
    assert UrlRecord.unpack(record.pack()) == record


@given(st.binary(max_size=120))
def test_torn_record(data):
    """Any bytes are a record or a corrupt file, and no other error."""
    try:
        record = UrlRecord.unpack(data)
    except CorruptFile:
        return
    assert math.isnan(record.fetched) or math.isnan(record.history) or UrlRecord.unpack(record.pack()) == record


def test_more_attempts_than_there_is_room_for():
    """Attempts are counted up to 65535."""
    record = UrlRecord(
        "http://a.example/", attempts=0xFFFE, host=b"12345678", section=bytes(4), rank=bytes(RANK_BYTES)
    )
    for _ in range(3):
        record.try_again()
    assert UrlRecord.unpack(record.pack()).attempts == 0xFFFF


@given(name=TEXT, counts=st.tuples(*[COUNTS] * 7), crawl_delay=st.floats(0, 1e9))
def test_a_host_comes_back_as_it_went(name, counts, crawl_delay):
    """A host keeps its name, its counts, its account with the lambda page and its robots.txt's delay."""
    host = Host(b"12345678", name)
    host.known, host.queued, host.fetched, host.good, host.dividend, host.mark, host.rest = counts
    host.crawl_delay = crawl_delay
    back = Host.unpack(b"12345678", host.pack())
    assert (back.known, back.queued, back.fetched, back.good, back.dividend, back.mark, back.rest) == counts
    assert (back.name, back.crawl_delay) == (name, crawl_delay)
    assert back.payees == back.queued


@given(st.binary(max_size=160))
def test_torn_host(data):
    """Any bytes are a host or a corrupt file, and no other error."""
    try:
        host = Host.unpack(b"12345678", data)
    except CorruptFile:
        return
    again = Host.unpack(b"12345678", host.pack())
    assert again.pack() == host.pack()


@given(st.dictionaries(st.integers(0, MAX_DEPTH), st.integers(1, 2**40), max_size=5), st.lists(COUNTS, min_size=4))
def test_counts_come_back_as_they_went(levels, numbers):
    """The totals and the levels are what was stored last."""
    meta = Meta()
    counts = Counts(meta)  # type: ignore[arg-type]
    counts.queued, counts.fetched, counts.failed, counts.excluded = numbers[:4]
    counts.levels.update(levels)
    counts.store(meta)  # type: ignore[arg-type]
    back = Counts(meta)  # type: ignore[arg-type]
    assert [back.queued, back.fetched, back.failed, back.excluded] == numbers[:4]
    assert back.levels == levels


@pytest.mark.parametrize("key", [b"counts", b"levels"])
@pytest.mark.parametrize("data", [b"x", bytes(39), bytes(41)])
def test_torn_counts(key, data):
    """Totals or levels of the wrong length are a corrupt file."""
    with pytest.raises(CorruptFile):
        Counts(Meta({key: data}))  # type: ignore[arg-type]
