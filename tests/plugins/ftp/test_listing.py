"""Listings as servers send them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.plugins.ftp.listing import (
    _MAX_LINE,
    Entry,
    Listing,
    Location,
    _ParseLine,
    folder_url,
    parse_list,
    parse_mlsd,
)
from sitecrawl.urls.url import CRAWLED, parse

UNIX = b"-rw-r--r--   1 ftp      ftp          1024 Nov  7 12:00 "


def listed(
    lines: Iterable[bytes], parse_line: _ParseLine = parse_list, path: bytes = b"pub/x", most: int = 100
) -> Listing:
    listing = Listing(parse_line, path, most)
    for line in lines:
        listing.feed(line)
    listing.end()
    return listing


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        (UNIX + b"a.txt", Entry(b"a.txt", False, 1024, "Nov 7 12:00")),
        (UNIX + b" a  b ", Entry(b" a  b ", False, 1024, "Nov 7 12:00")),
        (UNIX + b"\xff<script>.bin", Entry(b"\xff<script>.bin", False, 1024, "Nov 7 12:00")),
        (UNIX + b"a -> b", Entry(b"a -> b", False, 1024, "Nov 7 12:00")),
        (b"drwxr-xr-x+ 12 1000 1000 4096 Feb 29  2024 sub", Entry(b"sub", True, None, "Feb 29 2024")),
        (b"drwxr-xr-x 2 one two three 4096 Feb 29  2024 sub", Entry(b"sub", True, None, "Feb 29 2024")),
        (b"-rw-r--r-- 1 owner 7 2026-11-07 12:00 iso", Entry(b"iso", False, 7, "2026-11-07 12:00")),
        (b"-rw-r--r-- 1 a b 7 7. M\xe4r 12:00 x", Entry(b"x", False, 7, "7. M\xe4r 12:00")),
        (b"lrwxrwxrwx 1 a b 7 Nov  7 12:00 l -> ../other", Entry(b"l", None, None, "Nov 7 12:00", b"../other")),
        (b"11-07-26  12:00PM       <DIR>          My files", Entry(b"My files", True, None, "11-07-26  12:00PM")),
        (b"11-07-2026  12:00                 1024 a.txt", Entry(b"a.txt", False, 1024, "11-07-2026  12:00")),
    ],
)
def test_list(line: bytes, entry: Entry) -> None:
    """As `ls -l` and `dir` write it: a name is all that is left of the line, byte for byte."""
    assert parse_list(line) == entry


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        (b"type=file;size=7;modify=20261107; a b", Entry(b"a b", False, 7, "20261107")),
        (b"Type=DIR; sub", Entry(b"sub", True)),
        (b" no facts", Entry(b"no facts", None)),
        (b"type=OS.unix=slink:/pub; l", Entry(b"l", None, target=b"/pub")),
        (b"type=OS.unix=symlink; l", Entry(b"l", None)),
        (b"type=cdir; /pub", None),
        (b"type=pdir; /", None),
    ],
)
def test_mlsd(line: bytes, entry: Entry | None) -> None:
    """As RFC 3659 has it; the folder itself and the one above are none of its entries."""
    assert parse_mlsd(line) == entry


@pytest.mark.parametrize("parse_line", [parse_list, parse_mlsd])
@given(data=st.binary(max_size=400))
def test_garbage(parse_line: _ParseLine, data: bytes) -> None:
    """Whatever a server sends, there are entries or nothing."""
    for entry in listed([data], parse_line).entries:
        assert entry.name
        assert b"/" not in entry.name


def test_what_leads_elsewhere_is_no_entry() -> None:
    """Names with steps in them, links to folders above, devices and noise are skipped, and counted."""
    lines = [b"total 7", UNIX + b".", UNIX + b"..", UNIX + b"./x/../x", UNIX + b"/etc", UNIX + b"a\0b", b"", b"noise",
             b"crw-r--r-- 1 a b 7 Nov  7 12:00 device", b"lrwxrwxrwx 1 a b 7 Nov  7 12:00 up -> ..",
             b"lrwxrwxrwx 1 a b 7 Nov  7 12:00 here -> .", b"lrwxrwxrwx 1 a b 7 Nov  7 12:00 self -> /pub/x",
             b"lrwxrwxrwx 1 a b 7 Nov  7 12:00 root -> /", b"lrwxrwxrwx 1 a b 7 Nov  7 12:00 near -> ../xy",
             UNIX + b"a"]  # fmt: skip
    listing = listed([line + b"\r\n" for line in lines])
    assert [entry.name for entry in listing.entries] == [b"near", b"a"]
    assert listing.skipped == len(lines) - 2 - 4  # the total, the dots and the empty line are nobody's fault


@given(st.lists(st.integers(1, 40), max_size=30))
def test_cut_anywhere(cuts: list[int]) -> None:
    """How the bytes come makes no difference."""
    data = b"\r\n".join(UNIX + b"file %d" % number for number in range(20))
    parts, at = [], 0
    for cut in cuts:
        parts.append(data[at : at + cut])
        at += cut
    assert listed([*parts, data[at:]]).entries == listed([data]).entries


def test_a_line_without_end() -> None:
    """It is skipped as a whole, and what comes after it is read."""
    listing = listed([UNIX, *[b"x" * 1000] * 50, b"\n" + UNIX + b"a\n", UNIX + b"y" * _MAX_LINE + b"\n"])
    assert [entry.name for entry in listing.entries] == [b"a"]
    assert listing.skipped == 2


def test_memory_is_bounded() -> None:
    """A listing of a million files costs what the entries cost that are kept."""
    listing = Listing(parse_list, b"", 1000)
    part = b"".join(UNIX + b"file%d\r\n" % number for number in range(1000))
    tracemalloc.start()
    for _ in range(20):
        listing.feed(part)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(listing.entries), listing.is_full) == (1000, True)
    assert peak < 20 * len(part)


@pytest.mark.parametrize(
    ("url", "host", "port", "path", "is_folder"),
    [
        ("ftp://a.example", "a.example", 21, b"", True),
        ("ftp://a.example/", "a.example", 21, b"", True),
        ("ftp://a.example:2121/pub/", "a.example", 2121, b"pub", True),
        ("ftp://a.example/pub/x", "a.example", 21, b"pub/x", False),
        ("ftp://a.example/%2Fetc/motd", "a.example", 21, b"/etc/motd", False),
        ("ftp://a.example//", "a.example", 21, b"/", True),
        ("ftp://a.example/x;type=A", "a.example", 21, b"x", False),
        ("ftp://a.example/pub;type=d", "a.example", 21, b"pub", True),
        ("ftp://a.example/a%20b%3Btype=a", "a.example", 21, b"a b;type=a", False),
        ("ftp://a.example/what?now", "a.example", 21, b"what?now", False),
        ("ftp://a.example/%FF%3Cb%3E", "a.example", 21, b"\xff<b>", False),
        ("ftp://[::1]:2121/x", "::1", 2121, b"x", False),
        ("ftp://joe:secret@a.example/x", "a.example", 21, b"x", False),
    ],
)
def test_location(url: str, host: str, port: int, path: bytes, is_folder: bool) -> None:
    """As RFC 1738 says: relative to where a login leads, with escapes undone and the type taken off."""
    assert Location.of(parse(url, schemes=CRAWLED)) == Location(host, port, path, is_folder)


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("ftp://a.example/pub", "ftp://a.example/pub/"),
        ("ftp://a.example/pub/", "ftp://a.example/pub/"),
        ("ftp://a.example/pub;type=d", "ftp://a.example/pub/"),
        ("ftp://a.example/a?b", "ftp://a.example/a%3Fb/"),
    ],
)
def test_folder_url(url: str, folder: str) -> None:
    """What stands in a folder is relative to its URL with a slash."""
    assert folder_url(parse(url, schemes=CRAWLED)) == folder


@pytest.mark.parametrize(
    ("path", "above"),
    [(b"", None), (b"a/b", None), (b"a/a", b"a"), (b"a/b/c/b", b"a/b"), (b"/x/b/b/b", b"/x/b/b"), (b"ab/b", None)],
)
def test_namesake(path: bytes, above: bytes | None) -> None:
    """The nearest folder above that has the same name."""
    assert Location("a.example", 21, path, False).namesake == above
