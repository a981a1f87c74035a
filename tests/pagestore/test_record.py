from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import RFC_4122, UUID

import pytest
from compiled_core import both_ways
from hypothesis import given
from hypothesis import strategies as st
from pagestore_helpers import exchange

from sitecrawl.page.items import Exchange
from sitecrawl.pagestore import WarcOptions, record

way = both_ways("sitecrawl.pagestore.record.native", "sitecrawl.pagestore.http_head.native")
DIGEST = "A" * 32
TOKEN = st.from_regex(rb"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,20}", fullmatch=True)
VALUE = st.binary(max_size=40).map(lambda raw: raw.translate(None, b"\r\n\0"))
FRAMING = {b"content-length", b"transfer-encoding"}


def http_of(data: bytes) -> record.HttpMessage:
    return record.parse_http(record.parse(data).block)


def response(of: Exchange) -> record.HttpMessage:
    return http_of(record.response(of, record.new_record_id(), DIGEST))


@given(
    body=st.binary(max_size=200),
    headers=st.lists(st.tuples(TOKEN.filter(lambda name: name.lower() not in FRAMING), VALUE), max_size=8),
)
def test_headers_and_body_come_back_byte_for_byte(body, headers):
    """Whatever bytes a server sent in header values and body are what a reader gets."""
    message = response(exchange(body=body, headers=headers))
    assert message.headers == headers
    assert message.body == body


@given(st.text(max_size=60), st.lists(st.tuples(st.binary(max_size=9), st.binary(max_size=20)), max_size=5))
def test_nothing_a_server_sends_breaks_the_frame(path, headers):
    """Line breaks, NULs and colons in URLs, header names and values never make another line or record."""
    of = exchange(url=f"http://site.example/{path}", headers=headers, body=b"\r\n\r\nWARC/1.1\r\n")
    data = record.response(of, record.new_record_id(), DIGEST)
    parsed = record.parse(data)
    assert parsed.fields["warc-target-uri"].startswith("http://site.example/")
    message = record.parse_http(parsed.block)
    assert message.body == of.body
    assert len([name for name, _ in message.headers if not name.lower().endswith((b"encoding", b"length"))]) <= len(
        headers
    )
    record.parse(record.request(of, record.new_record_id()))


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ((b" A", b"1"), (b"A", b"1")),
        ((b"A: b", b"1"), (b"A_ b", b"1")),
        ((b"A\r\nB", b"1"), (b"A B", b"1")),
        ((b"A", b"1\r\nB: 2"), (b"A", b"1 B: 2")),
    ],
)
def test_a_header_stays_one_line(sent, kept):
    """What would end a header's name, or its line, is kept in another way."""
    assert response(exchange(headers=[sent])).headers[0] == kept


def test_transfer_coding_is_renamed_and_the_length_made_true():
    """The stored body is de-chunked: the header that says otherwise is kept under another name."""
    sent = [(b"Transfer-Encoding", b"chunked"), (b"Content-Length", b"999"), (b"ETag", b"x")]
    assert response(exchange(body=b"12345", headers=sent)).headers == [
        (b"X-Crawler-Transfer-Encoding", b"chunked"),
        (b"X-Crawler-Content-Length", b"999"),
        (b"ETag", b"x"),
        (b"Content-Length", b"5"),
    ]


def test_a_true_content_length_is_left_alone():
    """Headers that describe the stored body are not touched."""
    sent = [(b"content-length", b"5")]
    assert response(exchange(body=b"12345", headers=sent)).headers == sent


def test_headers_stop_where_readers_do():
    """Headers beyond what FastWARC reads are left out, counted, and those that fit stay."""
    sent = [(b"A", b"a" * 20_000), (b"B", b"b" * 20_000), (b"C", b"c")]
    names = [name for name, _ in response(exchange(headers=sent)).headers]
    assert names == [b"A", b"C", b"X-Crawler-Dropped-Headers"]


def test_the_request_names_its_host_and_keeps_no_proxy_credential():
    """A request record has the Host that the client sent by itself, and no header meant for the proxy."""
    of = Exchange(
        "http://user:pw@site.example:8080?q=1",
        started=1.0,
        seconds=1.0,
        status=200,
        request_headers=[(b"Proxy-Authorization", b"Basic c2VjcmV0"), (b"Accept", b"*/*")],
        headers=[],
        body=b"",
        method="POST",
        request_body=b"a=b",
    )
    message = http_of(record.request(of, record.new_record_id()))
    assert message.start_line == b"POST /?q=1 HTTP/1.1"
    assert message.headers == [(b"Host", b"site.example:8080"), (b"Accept", b"*/*")]
    assert message.body == b"a=b"


@pytest.mark.parametrize(("masked", "value"), [({"authorization", "x-key"}, b"(masked)"), (set(), b"secret")])
def test_credentials_are_masked(masked, value):
    """Those that are named, however the request spells them: that there was one stays known."""
    of = replace(exchange(), request_headers=[(b"AUTHORIZATION", b"secret"), (b"X-Key", b"secret"), (b"A", b"a")])
    data = record.request(of, record.new_record_id(), frozenset(masked))
    assert http_of(data).headers[1:] == [(b"AUTHORIZATION", value), (b"X-Key", value), (b"A", b"a")]


def test_http2_is_written_as_readers_expect_and_named():
    """Readers parse an HTTP/1.1 status line; WARC-Protocol says what was spoken."""
    data = record.response(exchange(protocol="h2", ip="2001:db8::1"), record.new_record_id(), DIGEST)
    fields = record.parse(data).fields
    assert (fields["warc-protocol"], fields["warc-ip-address"]) == ("h2", "2001:db8::1")
    assert http_of(data).start_line == b"HTTP/1.1 200 OK"


def test_a_revisit_record_has_headers_and_no_body():
    """A revisit names the capture whose body it shares, to the microsecond, and stores headers alone (6.7.2)."""
    data = record.revisit(exchange(body=b"abc"), record.new_record_id(), DIGEST, ("http://first.example/", 1.5))
    parsed = record.parse(data)
    assert parsed.type == "revisit"
    assert parsed.fields["warc-refers-to-target-uri"] == "http://first.example/"
    assert parsed.fields["warc-refers-to-date"] == "1970-01-01T00:00:01.500000Z"
    assert parsed.fields["warc-payload-digest"] == f"sha1:{DIGEST}"
    assert record.parse_http(parsed.block).body == b""


def test_warcinfo_says_who_crawled():
    """The first record of a file names software, operator, user agent and robots policy, one line each."""
    options = WarcOptions(name="news", operator="Ann\r\nX-Evil: 1", user_agent="bot/1", robots="ignore")
    parsed = record.parse(record.warcinfo(options, "news-1.warc.gz", 1.0))
    lines = parsed.block.decode().split("\r\n")
    assert parsed.fields["warc-filename"] == "news-1.warc.gz"
    assert {"operator: Ann X-Evil: 1", "http-header-user-agent: bot/1", "robots: ignore"} <= set(lines)


def test_record_ids() -> None:
    """They are random UUIDs, each another one, in the form that Python gives them."""
    ids = {record.new_record_id() for _ in range(200)}
    assert len(ids) == 200
    for one in ids:
        found = UUID(one.removeprefix("<urn:uuid:").removesuffix(">"))
        assert (found.version, found.variant, f"<urn:uuid:{found}>") == (4, RFC_4122, one)


@pytest.mark.parametrize("started", [0.0, 1.0, 1.5, 1.8e9 + 1e-6, 1234567890.999999, 253402300799.0])
def test_dates(started: float) -> None:
    """They have all six digits of a microsecond."""
    assert record._warc_date(started) == datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\n\r\nx\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 5\r\n\r\nx\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: 1\r\n\r\nx\r\n\r\n",
    ],
)
def test_what_is_no_record_is_refused(data):
    """Bytes whose lengths or fields do not make a record are an error."""
    with pytest.raises(ValueError, match="record"):
        record.parse(data)


@given(st.floats(0, 253_402_300_799) | st.integers(1, 10**16).map(lambda halves: halves / 2e6))
def test_the_date_of_a_record(seconds):
    """It is that of the calendar, to the microsecond, rounded as `datetime` does."""
    expected = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    assert record._warc_date(seconds) == expected
