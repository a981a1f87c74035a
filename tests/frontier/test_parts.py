"""URLs in parts, and the places of their paths."""

from __future__ import annotations

import pytest

from sitecrawl.frontier.forms.parts import split


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example/",
        "http://a.example/a",
        "http://a.example/a/",
        "http://a.example/a//b/",
        "http://a.example:8080/a/b.php?t=17&x",
        "https://a.example/?b=1&b=2",
    ],
)
def test_a_url_is_the_sum_of_its_parts(url):
    """What is split gives the same text again."""
    assert split(url).text() == url


def test_the_order_of_keys():
    """Keys are in the order of their names, as in the canonical URL; equal names keep theirs."""
    assert split("http://a.example/?z=1&b=2&b=1").keys == ("b=2", "b=1", "z=1")


def test_a_parameter_of_a_segment():
    """It is a key, and its segment is named without it; parts of the text are the same parts."""
    parts = split("http://a.example/x;v=7/y?t=1")
    assert (parts.segments, parts.keys) == (("x", "y"), (";v=7", "t=1"))
    assert split(parts.text()).text() == parts.text()


@pytest.mark.parametrize(
    ("path", "places"),
    [
        ("/", ("/",)),
        ("/about", ("/about", "/*")),
        ("/viewtopic.php", ("/viewtopic.php",)),
        ("/forum/viewtopic.php", ("/forum/viewtopic.php", "/*/viewtopic.php")),
        ("/p/17/red-shoe", ("/p/*/red-shoe", "/*/*/*")),
        ("/p/17/shoe-3", ("/p/*/*", "/*/*/*")),
        ("/docs/intro.html", ("/docs/intro.html", "/*/*.html")),
        ("/docs/intro2.html", ("/docs/*.html", "/*/*.html")),
        ("/17/18", ("/*/*",)),
    ],
)
def test_places(path, places):
    """The narrow place names words, the wide one counts segments and names a script."""
    assert split(f"http://a.example{path}?k=1").places == places
