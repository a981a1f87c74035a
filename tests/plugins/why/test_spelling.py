"""What is said of a URL's way to its identity."""

from __future__ import annotations

import pytest

from sitecrawl.plugins.why.spelling import changes
from sitecrawl.urls.url import Canonicalizer, guess_url


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("http://a.example/x?b=1", []),
        ("http://a.example/x#top", ["without the fragment #top"]),
        ("a.example", ["with the scheme http://"]),
        ("HTTP://A.example:80/x/../y", ["spelt as a browser spells it"]),
        (
            "http://a.example/x;jsessionid=1?utm_source=z&b=1",
            [
                "without the parameter jsessionid, which names a session or a campaign",
                "without the parameter utm_source, which names a session or a campaign",
            ],
        ),
        (
            "http://a.example/x?b=1&a=%7e",
            ["with its parameters in the order of their names, and its escapes in one spelling"],
        ),
    ],
)
def test_what_was_changed(text: str, said: list[str]) -> None:
    """Each change is named, and nothing else."""
    url = guess_url(text)
    assert list(changes(text, url, Canonicalizer().canonical(url))) == said
