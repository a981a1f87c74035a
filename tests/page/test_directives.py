"""Robots directives, refreshes and Link headers."""

from __future__ import annotations

import pytest

from sitecrawl.page.directives import Robots, header_links, refresh_target, robots_of_headers, robots_of_meta


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", Robots()),
        ("index, follow", Robots()),
        ("NOINDEX", Robots(noindex=True)),
        ("noindex,nofollow", Robots(noindex=True, nofollow=True)),
        (" none ", Robots(noindex=True, nofollow=True)),
        ("max-snippet:-1, nofollow", Robots(nofollow=True)),
        ("noindexing", Robots()),
    ],
)
def test_robots_of_meta(content: str, expected: Robots) -> None:
    """Directives are separated by commas, in any case; unknown ones mean nothing."""
    assert robots_of_meta(content) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["noindex"], Robots(noindex=True)),
        (["nofollow", "noindex"], Robots(noindex=True, nofollow=True)),
        (["otherbot: noindex, nofollow"], Robots()),
        (["SiteCrawl: none"], Robots(noindex=True, nofollow=True)),
        (["otherbot: noindex, sitecrawl: nofollow"], Robots(nofollow=True)),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], Robots(noindex=True)),
        (["*: noindex"], Robots(noindex=True)),
    ],
)
def test_robots_of_headers(values: list[str], expected: Robots) -> None:
    """A directive addresses everyone, or the crawler that was named last before it in its header."""
    assert robots_of_headers(values, "sitecrawl") == expected


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0; url=/x", "/x"),
        ("5;URL='/x y'", "/x y"),
        ('0, url="/x" z', "/x"),
        ("0.5 /x", "/x"),
        (".5; url = /x", "/x"),
        ("  3 ; urls", "urls"),
        ("0; url='/x", "/x"),
        ("5", None),
        ("5;", None),
        ("url=/x", None),
        ("5x; url=/x", None),
        ("", None),
        (" " * 100_000 + "x", None),
        ("0" * 100_000 + "x", None),
    ],
)
def test_refresh_target(content: str, target: str | None) -> None:
    """A refresh leads where the HTML standard's parser says."""
    assert refresh_target(content) == target


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("</a>; rel=next", [("/a", {"rel": "next"})]),
        ('</a>; REL="prev nofollow"; title="a, <b>; c"', [("/a", {"rel": "prev nofollow", "title": "a, <b>; c"})]),
        ("</a>;rel=next,</b> ; rel=prev", [("/a", {"rel": "next"}), ("/b", {"rel": "prev"})]),
        (r'</a>; title="a \"quoted\" word"', [("/a", {"title": 'a "quoted" word'})]),
        ("</a>; rel=next; rel=prev", [("/a", {"rel": "next"})]),
        ("</a>; crossorigin; rel=next", [("/a", {"crossorigin": "", "rel": "next"})]),
        ("nonsense, </a>", [("/a", {})]),
        ("", []),
        ("<" * 100_000, []),
        ("</a>" + ";" * 100_000, [("/a", {"": ""})]),
        ('</a>; title="' + "\\" * 100_001, [("/a", {"title": ""})]),
    ],
)
def test_header_links(value: str, expected: list[tuple[str, dict[str, str]]]) -> None:
    """A Link header is read as RFC 8288 says; what is no link in it is passed over."""
    assert [tuple(link) for link in header_links(value)] == expected
