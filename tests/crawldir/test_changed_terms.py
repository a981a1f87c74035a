"""What a run is told otherwise than the one before."""

from typing import Any

import pytest

from sitecrawl.crawldir.changed_terms import changes
from sitecrawl.crawldir.terms import Terms
from sitecrawl.http.sheets.kept import kept
from sitecrawl.http.sheets.sheet import RobotsException, Sheet


def of(before: dict[str, Any], now: dict[str, Any]) -> tuple[str, ...]:
    return changes(Terms(**before), Terms(**now))


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        ({}, {}, ()),
        ({"begun": 1.0, "ended": 2.0, "reason": "x", "since": ("x",)}, {}, ()),
        ({"max_depth": 2}, {"max_depth": 3}, ("max_depth 3, was 2",)),
        ({"deny": ("a",)}, {"deny": ("a", "print")}, ("deny has print besides",)),
        ({"deny": ("a", "b")}, {"deny": ("b",)}, ("deny lacks a",)),
        ({"robots": True}, {"robots": False}, ("robots no, was yes",)),
        ({"scope": ""}, {"scope": "site"}, ("scope site, was nothing",)),
        ({"others": {"DOWNLOAD_DELAY": 1}}, {"others": {"DOWNLOAD_DELAY": 5}}, ("DOWNLOAD_DELAY 5, was 1",)),
        ({"others": {}}, {"others": {"DOWNLOAD_DELAY": 5}}, ("DOWNLOAD_DELAY 5, was not set",)),
        ({"others": {"X": 1}}, {"others": {}}, ("X is gone, was 1",)),
        ({"others": {"seeds": ["a"]}}, {"others": {"seeds": ["a", "b"]}}, ("seeds has b besides",)),
        ({"others": {"seeds": {"digest": "1"}}}, {"others": {"seeds": ["a"]}}, ("seeds are others",)),
        ({"others": {"p": {"digest": "1"}}}, {"others": {"p": {"digest": "2"}}}, ("p has another value",)),
        ({"others": {"p": {"digest": "1"}}}, {"others": {}}, ("p is gone",)),
        ({"others": {}}, {"others": {"p": {"digest": "1"}}}, ("p is new",)),
    ],
)
def test_what_changed(before: dict[str, Any], now: dict[str, Any], said: tuple[str, ...]) -> None:
    """Each change is named with what it is and was; times and ends are no changes."""
    assert of(before, now) == said


def sheets(*given: Sheet) -> dict[str, Any]:
    return {"sheets": tuple(kept(sheet, lambda text: f"digest of {len(text)}") for sheet in given)}


class TestSheets:
    def test_an_option(self) -> None:
        """A sheet for the same hosts is the same sheet."""
        before, now = Sheet(("*.example.com",), delay=1.0), Sheet(("*.example.com",), delay=5.0, deny=("print",))
        said = of(sheets(before), sheets(now))
        assert said == (
            "sheet for *.example.com: delay 5.0, was 1.0",
            "sheet for *.example.com: deny has print besides",
        )

    def test_new_gone_and_moved(self) -> None:
        """Sheets come, go and change their places."""
        a, b, c = (Sheet((f"{name}.example",)) for name in "abc")
        assert of(sheets(a), sheets(b)) == ("sheet for b.example is new", "sheet for a.example is gone")
        assert of(sheets(a, b), sheets(b, c, a)) == ("sheet for c.example is new", "sheets stand in another order")

    def test_several_for_the_same_hosts(self) -> None:
        """They are told apart by their number."""
        one, two = Sheet(("*",), delay=1.0), Sheet(("*",), delay=2.0)
        assert of(sheets(one), sheets(one, two)) == ("sheet for * (2) is new",)

    def test_no_secret_is_kept(self) -> None:
        """Of values of headers and cookies, of passwords and logins, no more is kept than whether they changed."""
        sheet = Sheet(
            ("a.example",),
            headers={"X-Key": "hush"},
            cookies={"id": "hush"},
            proxy="http://me:hush@proxy.example:3128",
            login={"kind": "form", "password": "hush"},
            robots=RobotsException("we own it"),
        )
        assert "hush" not in str(sheets(sheet))
        other = Sheet(
            ("a.example",),
            headers={"X-Key": "longer"},
            proxy="http://me:longer@proxy.example:3128",
            login={"kind": "form", "password": "longer"},
        )
        assert [text.removeprefix("sheet for a.example: ") for text in of(sheets(sheet), sheets(other))] == [
            "header X-Key has another value",
            "cookie id is gone",
            "proxy's password has another value",
            "robots exception is gone, was / (we own it)",
            "login secret has another value",
        ]


def test_many_changes() -> None:
    """Twenty are told, and how many there are besides; a long value is cut."""
    names = [f"X{n}" for n in range(50)]
    said = of({"others": dict.fromkeys(names, "a")}, {"others": dict.fromkeys(names, "b" * 1000)})
    assert len(said) == 21
    assert said[-1] == "and 30 more"
    assert len(said[0]) < 150


def test_they_come_back_from_disk() -> None:
    """What is packed is what is unpacked, and nothing has changed."""
    terms = Terms(deny=("a",), others={"X": 1, "seeds": ["a"]}, since=("x",), **sheets(Sheet(("*",), delay=1.0)))
    back = Terms.unpack(terms.pack())
    assert changes(terms, back) == changes(back, terms) == ()
    assert back.since == ("x",)
