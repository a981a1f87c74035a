"""The words of a text, and of a URL."""

from __future__ import annotations

import pytest

from sitecrawl.plugins.focused.shark_search import _url_text, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Left-Join, JOIN_2!", ["left", "join", "join", "2"]),
        ("Straße", ["strasse"]),
        ("网站地图", ["网站", "站地", "地图"]),
        ("用 Python 写", ["用", "python", "写"]),
        ("", []),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    """Runs of letters and digits; pairs of characters where there are no spaces."""
    assert list(words(text)) == found


def test_the_words_of_a_url() -> None:
    """Without the host, with escapes and humps taken apart."""
    assert list(words(_url_text("http://join.example/docs/LeftJoin_2.html?q=caf%C3%A9"))) == [
        "docs", "left", "join", "2", "html", "q", "café"
    ]  # fmt: skip
