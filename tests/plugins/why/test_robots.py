"""Which line of a robots.txt decides: the answer is that of the parser that the crawl asks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from sitecrawl.http.robots_txt import RobotsTxt
from sitecrawl.plugins.why.case import _deciding_rule
from sitecrawl.urls.url import target_of

PIECES = st.sampled_from([*"/abx*$?=", "%2F", "%41", "%7e"])
PATTERNS = st.lists(PIECES, max_size=8).map("".join)
"""Without a stray percent sign, and without an escaped question mark, which that parser takes for one."""
LINES = st.one_of(
    st.builds("User-agent: {}".format, st.sampled_from(["*", "sitecrawl", "crawl", "site*crawl", "other", ""])),
    st.builds("{}: {}".format, st.sampled_from(["Allow", "Disallow", "disallow "]), PATTERNS.map("/{}".format)),
    st.builds("Disallow /{} # a comment".format, st.text("abx", max_size=3)),
    st.sampled_from(
        [
            "",
            "Dissalow: /a",
            "user agent sitecrawl",
            "Crawl-delay: 1",
            "Sitemap: http://a.example/s.xml",
            "nothing at all",
            "Disallow:",
        ]
    ),
)


@given(
    st.lists(LINES, max_size=12).map("\n".join),
    st.lists(st.sampled_from([*"/abxA~", "%2F"]), max_size=6).map("".join),
    st.sampled_from(["", "?a=b", "?x"]),
)
def test_the_parser_says_the_same(text: str, path: str, query: str) -> None:
    """The rule that is found allows what Scrapy's parser allows, and forbids what that forbids."""
    url = f"http://a.example/{path}{query}"
    rule = _deciding_rule(text.encode(), url, "sitecrawl")
    allowed = Protego.parse(text).can_fetch(url, "sitecrawl")
    assert (rule is None or rule.allows) == allowed
    assert RobotsTxt(text.encode(), "sitecrawl").allows(target_of(url)) == allowed


FILE = b"""User-agent: other
Disallow: /
User-agent: *
Disallow: /private # of all
Crawl-delay: 1
Allow: /private/open
Disallow: /*.cgi$
"""


@pytest.mark.parametrize(
    ("url", "line", "text"),
    [
        ("http://a.example/private/x", 4, "Disallow: /private"),
        ("http://a.example/private/open/x", 6, "Allow: /private/open"),
        ("http://a.example/a/b.cgi?x", 0, ""),
        ("http://a.example/a/b.cgi", 7, "Disallow: /*.cgi$"),
        ("http://a.example/", 0, ""),
    ],
)
def test_the_line(url: str, line: int, text: str) -> None:
    """The longest rule of our group, with its number, without its comment."""
    found = _deciding_rule(FILE, url, "sitecrawl")
    assert (found.number if found else 0, found.text if found else "") == (line, text)


def test_a_file_that_is_to_take_long() -> None:
    """As many names as fit, before as many rules: each line is looked at as often as a small file's."""
    names = "".join(f"User-agent: a{number}\n" for number in range(15_000))
    rules = "".join(f"Disallow: /{number}*{number}*$\n" for number in range(15_000))
    text = f"{names}User-agent: *\n{rules}Disallow: /x\na{' ' * 300_000}b\n"
    found = _deciding_rule(text.encode(), "http://a.example/x", "sitecrawl")
    assert found is not None
    assert (found.number, found.pattern) == (30_002, "/x")
