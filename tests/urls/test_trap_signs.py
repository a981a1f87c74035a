"""How a trap's URLs look, and how those of an ordinary site do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.urls.trap_signs import looks_like_a_trap

HERE = "http://a.example"
NOW = 2026


@pytest.mark.parametrize(
    "path",
    [
        "/a/b/a/b/a/b",
        "/img/img/img/x",
        "/a//b",
        "/calendar/2080/05",
        "/calendar/1650-12-01",
        "/events?year=2031",
        "/events?view=month&y=99999",
        "/calendar?date=2099-01",
    ],
)
def test_a_trap(path):
    """Folders that repeat, empty ones, and dates far off."""
    assert looks_like_a_trap(HERE + path, NOW)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/wiki/Ada_Lovelace",
        "/2024/05/12/title",
        "/news/2029/01/planned",
        "/shop/item-1815-12.html",
        "/history/1815-1852",
        "/a/b/a/c",
        "/list?page=2&sort=name&filter=new&filter=cheap",
        "/product/3000/14",
        "/archive?year=1999",
        "/a/?next=http://b.example//x",
    ],
)
def test_an_ordinary_page(path):
    """What ordinary sites do looks like no trap."""
    assert not looks_like_a_trap(HERE + path, NOW)


@given(st.text(max_size=200))
def test_any_url(text):
    """Any URL is looked at without an error."""
    assert isinstance(looks_like_a_trap(f"{HERE}/{text}", NOW), bool)
