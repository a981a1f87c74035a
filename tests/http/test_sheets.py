"""Which sheets hold for a host, and what comes of several."""

import pytest

from sitecrawl.http.sheets import _NOTHING, RobotsException, Sheet, Sheets, _names


@pytest.mark.parametrize(
    ("pattern", "host", "is_named"),
    [
        ("example.com", "example.com", True),
        ("example.com", "www.example.com", False),
        ("example.com", "example.com:8080", False),
        ("example.com:8080", "example.com:8080", True),
        ("*.example.com", "www.example.com", True),
        ("*.example.com", "a.b.example.com:8080", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "myexample.com", False),
        ("example.com", "example.com.", True),
        ("example.com:8080", "example.com.:8080", True),
        ("*.example.com", "www.example.com.", True),
        ("*", "[::1]:8080", True),
        ("[::1]:8080", "[::1]:8080", True),
    ],
)
def test_which_hosts_a_pattern_names(pattern: str, host: str, is_named: bool) -> None:
    """A name is that host, a star before a dot all below it, a star alone all."""
    assert _names(pattern, host) is is_named


class TestSheets:
    def test_nothing_is_said_of_other_hosts(self) -> None:
        """A host that no sheet names has what the crawl has."""
        assert Sheets([Sheet(("a.example",), delay=1.0)]).of("b.example") == _NOTHING
        assert Sheets().of("b.example") == _NOTHING

    def test_the_later_counts(self) -> None:
        """Of two sheets of one host the later counts, where it says something, zero and an empty proxy included."""
        sheets = Sheets(
            [
                Sheet(("*",), delay=5.0, concurrency=2, proxy="http://proxy.example:3128", deny=("print",)),
                Sheet(("a.example",), delay=0.0, proxy=""),
            ]
        )
        found = sheets.of("a.example")
        assert (found.delay, found.concurrency, found.proxy, found.deny) == (0.0, 2, "", ("print",))

    def test_headers_and_cookies_are_joined(self) -> None:
        """Headers and cookies of several sheets come together, by name."""
        sheets = Sheets(
            [
                Sheet(("*",), headers={"X-From": "us", "Accept": "text/html"}, cookies={"lang": "en"}),
                Sheet(("a.example",), headers={"Accept": "*/*"}, robots=RobotsException("we own it")),
            ]
        )
        found = sheets.of("a.example")
        assert found.headers == {"X-From": "us", "Accept": "*/*"}
        assert found.cookies == {"lang": "en"}
        assert found.robots == RobotsException("we own it", ("/",))


def test_what_nobody_is_to_see() -> None:
    """A sheet in an error or a debugger's window shows what is no secret."""
    login = {"kind": "bearer", "token": "5ec2e7"}
    sheet = Sheet(
        ("a",), 2.0, headers={"k": "5ec2e7"}, cookies={"k": "5ec2e7"}, proxy="http://u:5ec2e7@p", login=login
    )
    assert "5ec2e7" not in repr(sheet)
    assert "2.0" in repr(sheet)
