"""How a trap's URLs look, and how those of an ordinary site do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.urls.trap_signs import MAX_KEYS, MAX_LENGTH, MAX_SEGMENTS, Look, looks

HERE = "http://a.example"
NOW = 2026


@pytest.mark.parametrize(
    ("path", "look"),
    [
        ("/a/b/a/b/a/b", Look.REPEATED_SEGMENTS),
        ("/img/img/img/x", Look.REPEATED_SEGMENTS),
        ("/a//b", Look.EMPTY_SEGMENTS),
        ("/" + "/".join(f"s{n}" for n in range(MAX_SEGMENTS + 1)), Look.DEEP_PATH),
        ("/x?" + "&".join(f"k{n}=1" for n in range(MAX_KEYS + 1)), Look.MANY_KEYS),
        ("/x?tag=a&tag=b&tag=c", Look.MANY_KEYS),
        ("/" + "x" * MAX_LENGTH, Look.LONG),
        ("/calendar/2080/05", Look.FAR_DATE),
        ("/calendar/1650-12-01", Look.FAR_DATE),
        ("/events?year=2031", Look.FAR_DATE),
        ("/events?view=month&y=99999", Look.FAR_DATE),
        ("/calendar?date=2099-01", Look.FAR_DATE),
    ],
)
def test_a_trap(path, look):
    """Each look has its own reason."""
    assert looks(HERE + path, NOW) == [look]


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
        "/" + "/".join(f"s{n}" for n in range(MAX_SEGMENTS)),
        "/x?" + "&".join(f"k{n}=1" for n in range(MAX_KEYS)),
        "/archive?year=1999",
        "/a/?next=http://b.example//x",
    ],
)
def test_an_ordinary_page(path):
    """What ordinary sites do looks like no trap."""
    assert looks(HERE + path, NOW) == []


def test_all_that_applies():
    """A URL may look like several traps at once."""
    found = looks(f"{HERE}//a/a/a/calendar/2999/01?{'&'.join(['x=1'] * 500)}", NOW)
    assert set(found) == {
        Look.EMPTY_SEGMENTS, Look.REPEATED_SEGMENTS, Look.FAR_DATE, Look.MANY_KEYS, Look.LONG,
    }  # fmt: skip


@given(st.text(max_size=200))
def test_any_url(text):
    """Any URL is looked at without an error, and no look is named twice."""
    found = looks(f"{HERE}/{text}", NOW)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("look", list(Look))
def test_a_reason_in_words(look):
    """Every look says in words what it saw."""
    assert len(look.value.split()) > 3
