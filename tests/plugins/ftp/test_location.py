"""What an ftp: URL names."""

from __future__ import annotations

import pytest

from sitecrawl.plugins.ftp.listing import Location, folder_url, location_of, namesake
from sitecrawl.urls.url import CRAWLED, parse


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
    assert location_of(parse(url, schemes=CRAWLED)) == Location(host, port, path, is_folder)


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
    assert namesake(path) == above
