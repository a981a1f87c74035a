"""How a trap's URLs look, and how those of an ordinary site do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.urls.trap_signs import MAX_KEYS, MAX_LENGTH, MAX_SEGMENTS, TrapSign, trap_signs

HERE = "http://a.example"
NOW = 2026


@pytest.mark.parametrize(
    ("path", "look"),
    [
        ("/a/b/a/b/a/b", TrapSign.REPEATED_SEGMENTS),
        ("/img/img/img/x", TrapSign.REPEATED_SEGMENTS),
        ("/a//b", TrapSign.EMPTY_SEGMENTS),
        ("/" + "/".join(f"s{n}" for n in range(MAX_SEGMENTS + 1)), TrapSign.DEEP_PATH),
        ("/x?" + "&".join(f"k{n}=1" for n in range(MAX_KEYS + 1)), TrapSign.MANY_KEYS),
        ("/x?tag=a&tag=b&tag=c", TrapSign.MANY_KEYS),
        ("/" + "x" * MAX_LENGTH, TrapSign.LONG),
        ("/calendar/2080/05", TrapSign.FAR_DATE),
        ("/calendar/1650-12-01", TrapSign.FAR_DATE),
        ("/events?year=2031", TrapSign.FAR_DATE),
        ("/events?view=month&y=99999", TrapSign.FAR_DATE),
        ("/calendar?date=2099-01", TrapSign.FAR_DATE),
    ],
)
def test_a_trap(path, look):
    """Each look has its own reason."""
    assert trap_signs(HERE + path, NOW) == [look]


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
    assert trap_signs(HERE + path, NOW) == []


def test_all_that_applies():
    """A URL may look like several traps at once."""
    found = trap_signs(f"{HERE}//a/a/a/calendar/2999/01?{'&'.join(['x=1'] * 500)}", NOW)
    assert set(found) == {
        TrapSign.EMPTY_SEGMENTS, TrapSign.REPEATED_SEGMENTS, TrapSign.FAR_DATE, TrapSign.MANY_KEYS, TrapSign.LONG,
    }  # fmt: skip


@given(st.text(max_size=200))
def test_any_url(text):
    """Any URL is looked at without an error, and no look is named twice."""
    found = trap_signs(f"{HERE}/{text}", NOW)
    assert len(found) == len(set(found))


@pytest.mark.parametrize("look", list(TrapSign))
def test_a_reason_in_words(look):
    """Every look says in words what it saw."""
    assert len(look.value.split()) > 3
