"""Sheets out of plain mappings, and what is said of those that are none."""

from typing import Any

import pytest
from scrapy.settings import Settings

from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.configuration import sheets
from sitecrawl.http.sheets import _NOTHING, RobotsException, Sheet
from sitecrawl.http.written_sheets import _host_pattern, read_sheets

FULL: dict[str, Any] = {
    "hosts": ["Example.com", "*.example.com"],
    "delay": 2,
    "concurrency": 1,
    "priority": 0.5,
    "max_pages": 100,
    "max_depth": 3,
    "allow": ["/docs/"],
    "deny": ["print"],
    "headers": {"X-From": "us"},
    "cookies": {"lang": "en"},
    "proxy": "http://me:secret@proxy.example:3128",
    "robots": {"reason": "we own it", "paths": ["/docs/"]},
    "login": {"kind": "basic", "user": "me", "password": "@word"},
}


def wrong(sheet: object) -> str:
    with pytest.raises(OptionError) as raised:
        read_sheets([sheet], "SITECRAWL_SHEETS")
    return str(raised.value)


def test_all_options() -> None:
    """A mapping becomes a sheet, option by option."""
    (sheet,) = read_sheets([FULL], "SITECRAWL_SHEETS").all
    assert sheet == Sheet(
        hosts=("example.com", "*.example.com"),
        delay=2,
        concurrency=1,
        priority=0.5,
        max_pages=100,
        max_depth=3,
        allow=("/docs/",),
        deny=("print",),
        headers={"X-From": "us"},
        cookies={"lang": "en"},
        proxy="http://me:secret@proxy.example:3128",
        robots=RobotsException("we own it", ("/docs/",)),
        login={"kind": "basic", "user": "me", "password": "@word"},
    )


def test_what_is_left_out_is_left() -> None:
    """A sheet that names hosts and nothing else changes nothing."""
    assert read_sheets(({"hosts": ("a.example",)},), "x").of("a.example") == _NOTHING


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("EXAMPLE.com", "example.com"),
        (" example.com ", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("*.Bücher.example", "*.xn--bcher-kva.example"),
        ("example.com:8080", "example.com:8080"),
        ("example.com:80", "example.com"),
        ("example.com:443", "example.com"),
        ("example.com:21", "example.com"),
        ("[::1]:8080", "[::1]:8080"),
        ("*", "*"),
    ],
)
def test_names_of_hosts(text: str, pattern: str) -> None:
    """A host is written as its URLs have it."""
    assert _host_pattern(text) == pattern


@pytest.mark.parametrize(
    "text", ["", "https://example.com", "example.com/a", "a b", "*example.com", "*.example.com:8080", "me@a.example"]
)
def test_no_names_of_hosts(text: str) -> None:
    """What is no name of hosts is said, with examples of what is."""
    assert "SITECRAWL_SHEETS, sheet 1: hosts: " in wrong({"hosts": [text]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"delay": -1}, "delay is -1, and has to be 0 or more"),
        ({"delay": float("nan")}, "delay is nan, and has to be a number"),
        ({"delay": float("inf")}, "delay is inf, and has to be a number"),
        ({"delay": "5"}, "delay is '5', and has to be a number"),
        ({"delay": True}, "delay is true, and has to be a number"),
        ({"concurrency": 0}, "concurrency is 0, and has to be 1 or more"),
        ({"concurrency": 1.5}, "concurrency is 1.5, and has to be a whole number"),
        ({"priority": 0}, "priority is 0, and has to be more than 0"),
        ({"max_pages": -1}, "max_pages is -1, and has to be 0 or more"),
        ({"max_depth": None}, "max_depth is empty, and has to be a whole number"),
        ({"allow": "docs"}, "allow is 'docs', and has to be a list"),
        ({"deny": ["("]}, "deny: '(' is no regular expression: missing ) at position 1"),
        ({"dealy": 1}, "there is no 'dealy' here: is delay meant?"),
        ({1: 1}, "there is no '1' here: there are hosts, delay"),
        ({"hosts": []}, "hosts is empty"),
        ({"headers": {"a b": "x"}}, "'a b' is no name of a header"),
        ({"headers": {1: "x"}}, "a text"),
        ({"headers": {"Host": "x"}}, "the header Host is made by the crawler"),
        ({"headers": {"Cookie": "x"}}, "the header Cookie is made by the crawler: write cookies in its place"),
        ({"headers": {"X": "secret\r\nY: z"}}, "X: a header is one line of Latin-1"),
        ({"cookies": {"a=b": "x"}}, "'a=b' is no name of a cookie"),
        ({"cookies": {"a": "secret; b"}}, "a: a cookie is ASCII without spaces"),
        ({"proxy": "gopher://me:secret@a.example"}, "proxy: A proxy is asked over http"),
        ({"proxy": "http://me:secret@a.example:99999"}, "proxy: A proxy's port is a number below 65536"),
        ({"robots": {}}, "reason is missing"),
        ({"robots": {"reason": " "}}, "reason: say in one line by whose leave"),
        ({"robots": {"reason": "x", "paths": ["docs"]}}, "paths: a path begins with a slash"),
        ({"login": {}}, "kind is missing"),
        ({"hosts": ["*"], "login": {"kind": "bearer", "token": "x"}}, "every host of the web would be told"),
        ({"login": {"kind": "basic", "user": "me"}}, "login: basic takes 'password', which is missing"),
        ({"login": {"kind": "secret"}}, "kind is not of use, and has to be one of form, bearer, basic, cookies"),
    ],
)
def test_what_is_no_sheet(options: dict[str, Any], message: str) -> None:
    """A value of no use is said with its name and what it has to be; where a secret may stand, not the value."""
    text = wrong({"hosts": ["a.example"], **options})
    assert message in text
    assert text.startswith("SITECRAWL_SHEETS, sheet 1: ")
    assert "secret" not in text


@pytest.mark.parametrize("given", [{}, "x", [1], [[]], [None], 5])
def test_what_are_no_sheets(given: object) -> None:
    """Anything but a list of mappings is refused."""
    with pytest.raises(OptionError, match="SITECRAWL_SHEETS"):
        read_sheets(given, "SITECRAWL_SHEETS")


def test_all_that_is_wrong_is_told_at_once() -> None:
    """Each problem has its line, up to 20 of them."""
    with pytest.raises(OptionError) as raised:
        read_sheets([{"hosts": ["a.example"], "delay": -1, "priority": 0}, {}], "SITECRAWL_SHEETS")
    assert str(raised.value).count("\n") == 2
    assert "SITECRAWL_SHEETS, sheet 2: hosts is missing" in str(raised.value)
    with pytest.raises(OptionError) as raised:
        read_sheets([{}] * 100, "SITECRAWL_SHEETS")
    assert len(str(raised.value).splitlines()) == 20


class TestSetting:
    def test_a_list_and_its_json(self) -> None:
        """The setting is a list, and on the command line the same as JSON."""
        listed = sheets(Settings({"SITECRAWL_SHEETS": [{"hosts": ["a.example"], "delay": 5}]}))
        typed = sheets(Settings({"SITECRAWL_SHEETS": '[{"hosts": ["a.example"], "delay": 5}]'}))
        assert listed.all == typed.all
        assert listed.of("a.example").delay == 5

    @pytest.mark.parametrize("value", [None, [], "", "[]"])
    def test_none(self, value: object) -> None:
        """Without sheets nothing is otherwise anywhere."""
        assert not sheets(Settings({"SITECRAWL_SHEETS": value}))
        assert not sheets(Settings())

    @pytest.mark.parametrize("value", ["{", "[" * 200_000, "5", '{"hosts": ["a.example"]}', 5])
    def test_no_list(self, value: object) -> None:
        """What is no JSON, or no list, is an error with the setting's name."""
        with pytest.raises(OptionError, match="SITECRAWL_SHEETS"):
            sheets(Settings({"SITECRAWL_SHEETS": value}))
