"""Parts of snapshots: whatever rows they are made of come back, and little is left of what is alike."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import CorruptFile
from sitecrawl.cluster.snapshots import pack_part, unpack_part
from sitecrawl.frontier.forms.duplicates import text_keys
from sitecrawl.frontier.moving import Facts, Row
from sitecrawl.frontier.urls.record import UrlRecord, UrlState
from sitecrawl.urls.fingerprint import Fingerprinter

FACTS = Facts(3, 5, 7, [0, 1, 0, 0], (1, 2, 3, 0))
FINGERPRINTS = Fingerprinter(bytes(16))

FINGERPRINT = st.binary(min_size=16, max_size=16) | st.sampled_from(
    [FINGERPRINTS.url(f"http://a.example/{page}") for page in range(9)]
)
HALF = st.sampled_from([b"host-one", b"host-two"]) | st.binary(min_size=8, max_size=8)
URL = st.integers(0, 9).map("http://a.example/{}".format) | st.text(max_size=9)
RECORD = st.builds(
    UrlRecord,
    URL,
    state=st.sampled_from(UrlState),
    flags=st.integers(0, 255),
    depth=st.integers(0, 9),
    status=st.sampled_from([0, 200, 404]),
    fetched=st.floats(0, 1e9),
    host=HALF,
    section=st.binary(min_size=4, max_size=4),
    rank=st.binary(min_size=12, max_size=12),
    referrer=FINGERPRINT,
    credit=st.integers(0, 1 << 40),
    mark=st.integers(0, 1 << 40),
    history=st.floats(0, 1e15),
)
ODD = st.tuples(
    st.sampled_from(["urls", "content", "classes", "hosts", "edges"]), st.binary(max_size=30), st.binary(max_size=90)
)


def record_rows(record: UrlRecord, key: bytes) -> list[Row]:
    rows: list[Row] = [("urls", key, record.pack())]
    if record.state == UrlState.QUEUED:
        rows.append(("queue", record.host + record.section + record.rank + key, b""))
    return rows


URLS = st.builds(lambda record: record_rows(record, FINGERPRINTS.url(record.url)), RECORD)
REQUESTS = st.builds(record_rows, RECORD, st.binary(min_size=16, max_size=16))
DIGESTS = st.builds(lambda digest, page: [("content", b"D" + digest, page)], FINGERPRINT, FINGERPRINT)
TITLES = st.builds(
    lambda host, title, texts: [("content", b"T" + host + title, b"".join(text + page for text, page in texts))],
    HALF,
    HALF,
    st.lists(st.tuples(HALF, FINGERPRINT), min_size=1, max_size=4),
)
TEXTS = st.builds(
    lambda host, title, text, page: [
        ("content", key, page) for key in text_keys(b"N" + host + title, int.from_bytes(text))
    ],
    HALF,
    HALF,
    HALF,
    FINGERPRINT,
)
CLASSES = st.builds(
    lambda key, page, content, other, failures: [("classes", key, page + content + other + bytes([failures]))],
    FINGERPRINT,
    FINGERPRINT,
    HALF | st.just(FINGERPRINTS.url("http://a.example/1")[:8]),
    FINGERPRINT,
    st.integers(0, 3),
)


@given(
    st.lists(URLS | REQUESTS | DIGESTS | TITLES | TEXTS | CLASSES | st.builds(lambda row: [row], ODD), max_size=30)
)
def test_what_went_in_comes_out(found: list[list[Row]]) -> None:
    """Rows as the frontier writes them, and such as nobody does; those of the queue are made of the records."""
    wanted = {(family, key): value for rows in found for family, key, value in rows if family != "queue"}
    for (family, key), value in list(wanted.items()):
        if family == "urls" and len(key) == 16 and len(value) >= 80 and value[0] == UrlState.QUEUED:
            wanted["queue", value[16:40] + key] = b""
    rows = [(*place, value) for place, value in wanted.items()]
    facts, again = unpack_part(pack_part(FACTS, rows, FINGERPRINTS.url), FINGERPRINTS.url)
    assert facts == FACTS
    assert sorted(again) == sorted(rows)


def pages(count: int) -> list[Row]:
    """Links of a page: found one after the other, with the same credit."""
    records = [
        UrlRecord(
            f"http://a.example/articles/{page}.html",
            host=b"host-one",
            section=b"sect",
            rank=struct.pack(">IHHI", 1 << 31, 0, 9, page),
            referrer=bytes(range(16)),
            credit=12345,
            history=12345.0,
        )
        for page in range(count)
    ]
    return [row for record in records for row in record_rows(record, FINGERPRINTS.url(record.url))]


def test_a_url_is_made_again_from_its_text() -> None:
    """So a thousand of them take less than their fingerprints would, which nothing compresses."""
    assert len(pack_part(FACTS, pages(1000), FINGERPRINTS.url)) < 1000 * 14


def test_four_rows_of_a_text_count_once() -> None:
    def size(rows: Sequence[Row]) -> int:
        return len(pack_part(FACTS, rows, FINGERPRINTS.url))

    texts = [FINGERPRINTS.url(f"http://a.example/{page}")[-8:] for page in range(1000)]
    rows = [
        ("content", key, b"p" * 16) for text in texts for key in text_keys(b"N" + bytes(16), int.from_bytes(text))
    ]
    assert size(rows) < 1000 * 12
    assert size(rows[:-1]) > size(rows)  # where one is missing, the others stay as they are


def test_other_settings_are_named() -> None:
    """A worker that would make other fingerprints of the same URLs takes none of them."""
    part = pack_part(FACTS, pages(3), FINGERPRINTS.url)
    with pytest.raises(CorruptFile, match="same settings"):
        unpack_part(part, Fingerprinter(b"another key 16 b").url)


@pytest.mark.parametrize("data", [b"", b"no frame", pack_part(FACTS, pages(3), FINGERPRINTS.url)[:-3]])
def test_a_damaged_part_is_named(data: bytes) -> None:
    with pytest.raises(CorruptFile, match="A part of"):
        unpack_part(data, FINGERPRINTS.url)
