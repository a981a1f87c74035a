"""A response out of bytes, however they are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.http import BadResponse, OverLimit, ReadLimits, ResponseReader, Truncated

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nX-Trailer: t\r\n\r\n"
CHUNKED_HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

NO_LIMITS = ReadLimits()


def read(*pieces: bytes, limits: ReadLimits = NO_LIMITS, **options: object) -> ResponseReader:
    """A reader that was fed `pieces`."""
    reader = ResponseReader(limits, **options)  # type: ignore[arg-type]
    for piece in pieces:
        reader.feed(piece)
    return reader


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(n % len(data) for n in at)})
    return [data[a:b] for a, b in pairwise(places)]


@pytest.mark.parametrize("response", [PLAIN, CHUNKED])
@given(at=st.lists(st.integers(0, 200)))
def test_a_response_is_the_same_however_it_is_cut(response: bytes, at: list[int]) -> None:
    """Headers as they were sent, the body without its framing, and the connection can go on."""
    reader = read(*cut(response, at))
    assert (reader.status, b"".join(reader.body), reader.size) == (200, b"hello", 5)
    assert reader.is_whole
    assert reader.is_reusable
    assert all(name != b"X-Trailer" for name, _ in reader.headers)


def test_headers_stay_as_they_were_sent() -> None:
    """In their order, spelling and number."""
    reader = read(PLAIN)
    assert reader.headers == [
        (b"Content-Type", b"text/plain"),
        (b"X-A", b"1"),
        (b"x-a", b"2"),
        (b"Content-Length", b"5"),
    ]
    assert reader.values(b"x-a") == [b"1", b"2"]


def test_provisional_responses_are_skipped() -> None:
    """RFC 9110, section 15.2: any number of them may come before the response."""
    hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    reader = read(hints, PLAIN)
    assert (reader.status, len(reader.headers)) == (200, 4)


def test_endless_provisional_responses_are_too_many_headers() -> None:
    """Their lines count like those of one response."""
    hints = [b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"] * 101
    assert not read(*hints[1:], limits=ReadLimits(headers=100)).has_head
    with pytest.raises(OverLimit, match="100 header lines"):
        read(*hints, limits=ReadLimits(headers=100))


@pytest.mark.parametrize(
    ("limits", "max_size", "response", "stat"),
    [
        (ReadLimits(headers=3), 10, PLAIN, "limits/headers"),
        (ReadLimits(header_size=40), 10, PLAIN, "limits/header_size"),
        (ReadLimits(header_size=40), 10, b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100, "limits/header_size"),
        (ReadLimits(chunks=1), 10, CHUNKED, "limits/chunks"),
        (ReadLimits(headers=1), 10, CHUNKED, "limits/headers"),
        (ReadLimits(), 4, PLAIN, "limits/body_size"),
        (ReadLimits(), 4, CHUNKED, "limits/body_size"),
        (ReadLimits(), 4, PLAIN[: PLAIN.index(b"hello")], "limits/body_size"),
    ],
)
def test_every_limit_ends_the_response(limits: ReadLimits, max_size: int, response: bytes, stat: str) -> None:
    """A length that is announced counts before its bytes come."""
    with pytest.raises(OverLimit) as caught:
        read(response, limits=limits, max_size=max_size)
    assert caught.value.limit.stat == stat


def test_what_is_just_within_the_limits_is_read() -> None:
    """A body beside the headers is none of their bytes."""
    head = len(PLAIN) - len(b"hello")
    assert read(PLAIN, limits=ReadLimits(headers=4, header_size=head), max_size=5).is_whole


def test_a_body_may_end_with_the_connection() -> None:
    """RFC 9112, section 6.3, rule 8."""
    reader = read(b"HTTP/1.0 200 OK\r\n\r\n", b"hel", b"lo")
    before = reader.is_whole
    reader.end()
    assert (before, reader.is_whole, reader.is_reusable) == (False, True, False)
    assert b"".join(reader.body) == b"hello"


@pytest.mark.parametrize("response", [PLAIN[:-1], CHUNKED[: CHUNKED.index(b"0\r\nX")]])
def test_a_body_that_ends_too_early_says_so(response: bytes) -> None:
    """What came of it is kept."""
    reader = read(response)
    with pytest.raises(Truncated):
        reader.end()
    assert b"".join(reader.body).startswith(b"hell")


def test_a_chunked_body_is_whole_with_its_last_chunk() -> None:
    """RFC 9112, section 8: also where the connection ends within the headers behind it."""
    reader = read(CHUNKED[:-10])
    reader.end()
    assert (reader.is_whole, reader.is_reusable, b"".join(reader.body)) == (True, False, b"hello")


def test_headers_that_end_too_early_are_no_response() -> None:
    """Nothing can be said of it."""
    reader = read(b"HTTP/1.1 200 OK\r\nX: y\r\n")
    with pytest.raises(BadResponse, match="within the headers"):
        reader.end()


@pytest.mark.parametrize("at", [[], [20], [20, 40, 41, 60], list(range(200))])
def test_lines_that_are_no_headers_are_left_out(at: list[int]) -> None:
    """A server's stray output costs no page."""
    bad = PLAIN.replace(b"X-A: 1\r\n", b"X-A: 1\r\n<b>Warning</b> in line 3\r\nno header\r\n")
    reader = read(*cut(bad, at))
    assert reader.is_whole
    assert b"".join(reader.body) == b"hello"
    assert reader.headers == read(PLAIN).headers


LENGTH = b"Content-Length: 5\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n" + 2 * LENGTH,
        b"HTTP/1.1 200 OK\r\n" + LENGTH + b"X: y\r\ncontent-length:05\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 5,,5\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n",
        b"HTTP/1.1 200 OK\r\nX-Thing \t: a\r\n" + LENGTH,
        b"HTTP/1.1 200 OK\n" + LENGTH.replace(b"\r", b""),
        b"HTTP/1.1 200 OK\r" + LENGTH,
        b"HTTP/1.1 200 OK\r\n (no header goes on)\r\n" + LENGTH,
        b"\r\n\r\nHTTP/1.1 200 OK\r\n" + LENGTH,
        b"http/1.1 200 OK\r\n" + LENGTH,
        b"HTTP/1.1  200\r\n" + LENGTH,
        b"HTTP/1.1\t200\tOK\r\n" + LENGTH,
        b"HTTP/2.0 200 OK\r\nConnection: keep-alive\r\n" + LENGTH,
        b"HTTP/1.1 200 Gr\xfc\xdfe\x00\r\n" + LENGTH,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n" + LENGTH,
    ],
)
def test_heads_that_are_wrong_and_mean_one_thing_are_read(head: bytes) -> None:
    """As curl and browsers read them."""
    reader = read(head + b"\r\nhello" if b"\r\n" in head else head + b"\nhello")
    assert (reader.status, reader.is_whole, reader.length, b"".join(reader.body)) == (200, True, 5, b"hello")


@pytest.mark.parametrize(
    ("length", "why"),
    [
        (b"Content-Length: 5\r\nContent-Length: 7", "two lengths: b'5, 7'"),
        (b"Content-Length: 5, 6", "two lengths"),
        (b"Content-Length: -5", "no number"),
        (b"Content-Length: +5", "no number"),
        (b"Content-Length: 5;", "no number"),
        (b"Content-Length: 0x5", "no number"),
        (b"Content-Length:", "no number"),
    ],
)
def test_a_length_that_may_mean_two_things_is_refused(length: bytes, why: str) -> None:
    """RFC 9112, section 6.3, rule 5; the error says which."""
    with pytest.raises(BadResponse, match=why):
        read(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n\r\nhello")


@pytest.mark.parametrize("length", [b"", b"Content-Length: 3\r\n", b"Content-Length: 3, 4\r\n"])
@pytest.mark.parametrize(
    "coding", [b": chunked", b" : Chunked", b":\tchunked ", b": identity,, chunked", b": CHUNKED, chunked"]
)
def test_chunks_count_and_no_length_beside_them(coding: bytes, length: bytes) -> None:
    """RFC 9112, section 6.3, rule 3, in whatever way the coding is spelled."""
    reader = read(
        b"HTTP/1.1 200 OK\r\n" + length + b"Transfer-Encoding" + coding + b"\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    )
    assert (reader.is_whole, b"".join(reader.body)) == (True, b"hello")


@pytest.mark.parametrize("size", [b"5 ;a=b", b"5;", b'5 \t; a="x;y"', b"0005", b"5\t ", b"5;a"])
def test_a_chunk_may_have_extensions(size: bytes) -> None:
    """RFC 9112, section 7.1.1, with the white space that is bad and legal."""
    reader = read(CHUNKED_HEAD + size + b"\r\nhello\r\n0 ; z\r\n\r\n")
    assert (reader.is_whole, b"".join(reader.body)) == (True, b"hello")


@pytest.mark.parametrize("size", [b"0x5", b"-5", b"+5", b" 5", b"5 a", b"5_0", b"1" * 17])
def test_a_size_of_a_chunk_that_is_no_number_is_refused(size: bytes) -> None:
    """Readers differ over these; the error says what stood there."""
    with pytest.raises(BadResponse, match="no size of a chunk"):
        read(CHUNKED_HEAD + size + b"\r\nhello\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    ("head", "is_reusable"),
    [
        (b"HTTP/1.1 200 OK\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: Upgrade, Close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n", True),
        (b"HTTP 200 OK\r\n", False),
    ],
)
def test_a_connection_goes_on_where_the_response_lets_it(head: bytes, is_reusable: bool) -> None:
    """RFC 9112, section 9.3; a response without a version is of the oldest."""
    assert read(head + LENGTH + b"\r\nhello").is_reusable is is_reusable


def test_a_header_may_go_on_in_the_next_line() -> None:
    """RFC 9112, section 5.2; a line that is no header has nothing that could go on."""
    head = b"HTTP/1.1 200 OK\r\nX: a\r\n\t b\r\nnone\r\n c\r\n" + LENGTH
    assert read(head + b"\r\nhello").headers == [(b"X", b"a b"), (b"Content-Length", b"5")]


@pytest.mark.parametrize(
    "response",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 2000\r\n\r\n",
        b"HTTP/1.1 099\r\n\r\n",
        b"HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_http_is_no_response(response: bytes) -> None:
    """Also not without its bad lines."""
    with pytest.raises(BadResponse):
        read(response)


def test_a_chunk_without_size_is_no_body() -> None:
    """It cannot be told where the next one begins."""
    with pytest.raises(BadResponse, match="body"):
        read(CHUNKED.replace(b"2;x=y", b"zz"))


@pytest.mark.parametrize("more", [b"HTTP/1.1 200 OK\r\n", b"garbage"])
def test_what_follows_a_response_is_nobodys(more: bytes) -> None:
    """The response counts, its connection is used no more."""
    reader = read(PLAIN + more)
    assert reader.is_whole
    assert not reader.is_reusable
    assert b"".join(reader.body) == b"hello"


@pytest.mark.parametrize("status", [204, 304])
def test_some_responses_have_no_body(status: int) -> None:
    """RFC 9110, section 6.4.1."""
    assert read(b"HTTP/1.1 %d X\r\n\r\n" % status).is_reusable


def test_the_answer_to_head_has_no_body() -> None:
    """Whatever length it announces, also beyond the limit."""
    reader = read(PLAIN[: PLAIN.index(b"hello")], has_body=False, max_size=1)
    assert reader.is_whole
    assert reader.size == 0


def test_listeners_hear_of_the_head_once_and_of_every_piece() -> None:
    """In the order of arrival."""
    heard: list[object] = []
    read(*cut(CHUNKED, [30, 60]), on_head=lambda: heard.append("head"), on_data=heard.append)
    assert heard[0] == "head"
    assert heard.count("head") == 1
    assert b"".join(piece for piece in heard if isinstance(piece, bytes)) == b"hello"


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"HTTP/1.1 200 ",
        b"HTTP/1.1 200 OK\r\nX: ",
        b"HTTP/1.1 200 OK\r\nno header\r\n\0",
        b"HTTP/1.1 103 Early Hints\r\nno header\r\n\r\nHTTP/1.1 200 OK\r\nX: ",
        CHUNKED_HEAD + b"5;a=",
        CHUNKED_HEAD + b"5\r\nhello\r\n0\r\nX: ",
        CHUNKED_HEAD + b"5\r\nhello\r\n0\r\nX",
    ],
)
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_no_part_of_a_response_is_endless(start: bytes, step: int) -> None:
    """Whatever is no body counts as headers: lines, reasons, extensions of chunks, trailers, what is no header."""
    fill = b"\r\n" if not start else b"x"
    pieces = [start, *[fill * step] * (6000 // step)]
    with pytest.raises(OverLimit, match="5000 bytes of headers"):
        read(*pieces, limits=ReadLimits(header_size=5000), max_size=10)


def test_a_chunk_may_be_framed() -> None:
    """The sizes of chunks are no headers."""
    reader = read(CHUNKED_HEAD, *[b"1   \r\nx\r\n"] * 500, b"0\r\n\r\n", limits=ReadLimits(header_size=100))
    assert (reader.is_whole, reader.size) == (True, 500)


def test_what_comes_behind_a_response_is_no_part_of_it() -> None:
    """However much it is: the response is whole, and its connection is not used again."""
    for behind in (b"x" * 1000, PLAIN * 20):
        reader = read(PLAIN + behind, limits=ReadLimits(header_size=200))
        assert (reader.is_whole, reader.is_reusable, reader.size) == (True, False, 5)


def test_pieces_that_come_together_are_one() -> None:
    """A listener hears of many small chunks at once."""
    heard: list[bytes] = []
    reader = read(CHUNKED_HEAD + b"1\r\nx\r\n" * 50, b"1\r\ny\r\n0\r\n\r\n", on_data=heard.append)
    assert heard == reader.body == [b"x" * 50, b"y"]
