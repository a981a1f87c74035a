"""What of a page is SVG or MathML, followed tag by tag; that the tree has it so is in test_markup.py."""

from __future__ import annotations

import pytest

from sitecrawl.page.foreign import Nesting, may_be_in


def after(tags: str) -> str:
    """The namespace of what comes behind some tags."""
    nesting = Nesting()
    for tag in tags.split():
        if tag.startswith("/"):
            nesting.end(tag[1:])
        else:
            nesting.start(tag.rstrip("/"), "/" if tag.endswith("/") else "")
    return nesting.inside


@pytest.mark.parametrize(
    ("tags", "namespace"),
    [
        ("svg", "svg"),
        ("svg g path/ /g", "svg"),
        ("svg/", ""),
        ("svg /svg", ""),
        ("svg svg /svg", "svg"),
        ("svg math", "svg"),
        ("math mi", ""),
        ("math mi /mi", "math"),
        ("math desc", "math"),
        ("svg foreignobject p", ""),
        ("svg foreignobject p /p /foreignobject", "svg"),
        ("svg desc/", "svg"),
        ("svg desc svg desc svg /svg /desc", "svg"),
        ("svg desc /svg", ""),
        ("svg g div", ""),
        ("svg desc svg div", ""),
        ("svg desc svg div /desc", "svg"),
        ("svg /p", ""),
        ("/svg p", ""),
    ],
)
def test_what_tags_begin_and_end(tags: str, namespace: str) -> None:
    """SVG and MathML end with their roots, where they hold HTML, and before what is HTML alone."""
    assert after(tags) == namespace


def test_where_there_may_be_any() -> None:
    """Names are in either case."""
    assert may_be_in(b"<p><SVG>")
    assert may_be_in(b"<math/>")
    assert not may_be_in(b"<p>svg")
