"""What reaches the parser of a robots.txt."""

from __future__ import annotations

import pytest
from protego import Protego

from sitecrawl.http.robots_txt import MAX_AGENTS, addressed, as_utf8

MANY = "".join(f"User-agent: other{number}\n" for number in range(2 * MAX_AGENTS))


def test_as_utf8_leaves_utf8_alone() -> None:
    """Only a UTF-16 byte order mark changes anything."""
    assert as_utf8("Disallow: /ü".encode()) == "Disallow: /ü".encode()


def test_few_names_are_left_alone() -> None:
    """An ordinary file goes to the parser as it is."""
    text = b"User-agent: a\nUser-agent: b\nDisallow: /"
    assert addressed(text, "sitecrawl") is text


@pytest.mark.parametrize(
    "text",
    [
        f"{MANY}Disallow: /\n\nUser-agent: *\nDisallow: /secret\n",
        f"{MANY}User-agent: sitecrawl\nDisallow: /secret\n\nUser-agent: *\nDisallow: /\n",
        f"{MANY}Disallow: /\nUSERAGENT SiteCrawl # us\nDisallow: /secret\n",
        f"User-agent: s*itecrawl\nDisallow: /secret\n{MANY}Disallow: /\n",
        f"User-agent:\nDisallow: /\n{MANY}user agent: *\nDisallow: /secret\n",
    ],
)
def test_many_names_change_nothing_for_us(text: str) -> None:
    """The rules that count for us are those of the whole file."""
    whole, short = Protego.parse(text), Protego.parse(addressed(text.encode(), "sitecrawl").decode())
    for path in ("/", "/open", "/secret", "/secret/x"):
        url = f"http://a.example{path}"
        assert short.can_fetch(url, "sitecrawl") == whole.can_fetch(url, "sitecrawl"), path
    assert not short.can_fetch("http://a.example/secret", "sitecrawl")


def test_names_are_bounded() -> None:
    """However many crawlers a file names, and however it spells ours, few are left."""
    spellings = "".join(f"User-agent: site{'*' * number}crawl\n" for number in range(1, 500))
    lines = addressed((MANY + spellings).encode(), "sitecrawl").splitlines()
    assert len(set(lines)) == 2
