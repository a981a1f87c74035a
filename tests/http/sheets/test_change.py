"""What a person may change while a crawl runs, and what is believed of it when it is read back."""

from __future__ import annotations

import json

import pytest
from database_files import database_at

from sitecrawl.base.errors import CorruptFile, OptionError
from sitecrawl.crawldir.meta import CHANGES
from sitecrawl.http.sheets import Sheet, Sheets
from sitecrawl.http.sheets.change import Change, changes_of, check_thing, checked, host_named, in_words, pack_changes
from sitecrawl.http.sheets.live import LiveSheets


def change() -> Change:
    return Change("00ff00ff00ff00ff", 1_800_000_000.5, "delay", "a.example", before=1.0, after=5.0, configured=None)


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        ("delay", "2.5", 2.5),
        ("concurrency", "4", 4),
        ("max_pages", "0", 0),
        ("max_depth", "3", 3),
        ("deny", " /a \n\n/b\n/a", ("/a", "/b")),
        ("allow", "", ()),
        ("scope", "prefix", "prefix"),
    ],
)
def test_text_is_read(option, text, value):
    """What is typed into the page becomes a number, or a list of patterns without empty and double lines."""
    assert checked(option, text) == value


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("delay", "-1"), ("delay", ""), ("delay", "nan"), ("delay", "inf"), ("delay", True), ("delay", []),
        ("concurrency", "0"), ("max_pages", "1.5"), ("max_depth", "x"), ("max_pages", "9" * 400),
        ("scope", "domain"), ("scope", ""), ("scope", 7), ("scope", ["host"]),
        ("deny", "("), ("deny", [1]), ("deny", 7), ("deny", "\n".join(map(str, range(201)))), ("allow", "a" * 2001),
    ],
)  # fmt: skip
def test_values_that_make_no_sense(option, value):
    """They are refused in one line that names the option."""
    with pytest.raises(OptionError, match=option):
        checked(option, value)


@pytest.mark.parametrize(
    ("option", "host"),
    [
        ("login", "a.example"),
        ("scope", "a.example"),
        ("concurrency", ""),
        ("", ""),
        ("delay", "a b"),
        ("delay", "a" * 2001),
    ],
)
def test_things_that_cannot_be_changed(option, host):
    """A login, or how many requests the crawl has, is no matter of the page; and a host has a name."""
    with pytest.raises(OptionError):
        check_thing(option, host)


def test_a_change_comes_back(tmp_path):
    """What is stored is read back as it was."""
    database = database_at(tmp_path / "db", "test")
    listed = Change.new(1.0, "deny", "", before=(), after=("/a",), configured=())
    batch = database.batch()
    batch.put("meta", CHANGES, pack_changes([change(), listed]))
    database.write(batch, sync=False)
    assert changes_of(database) == [change(), listed]
    batch = database.batch()
    batch.put("meta", CHANGES, b'["x"]')
    database.write(batch, sync=False)
    with pytest.raises(CorruptFile):
        changes_of(database)
    database.close()


@pytest.mark.parametrize(
    "wrong",
    [
        {"option": "login"}, {"at": "now"}, {"at": float("inf")}, {"after": -1}, {"by": "me"}, {"host": 3},
        {"more": 1}, {"number": None},
    ],
)  # fmt: skip
def test_what_another_may_have_written(wrong):
    """Of a text that no worker has written nothing is believed."""
    with pytest.raises(OptionError):
        Change.unpack(json.dumps({**json.loads(change().pack()), **wrong}))


@pytest.mark.parametrize(
    ("option", "said"),
    [("max_pages", 10**12), ("delay", 1e12), ("deny", tuple(f"/{n}" for n in range(300))), ("allow", ("a" * 3000,))],
)
def test_what_the_settings_said_comes_back(option, said):
    """The limits of what people may ask for are none of what the settings say: the crawl can be resumed."""
    changed = Change.new(1.0, option, "", before=said, after=checked(option, "5"), configured=said)
    assert Change.unpack(changed.pack()) == changed


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("", ""), (" EXAMPLE.com. ", "example.com"),
        ("example.com:80", "example.com"), ("example.com:443", "example.com"),
        ("bücher.example", "xn--bcher-kva.example"), ("[::1]:8080", "[::1]:8080"), ("*.example.com", "*.example.com"),
    ],
)  # fmt: skip
def test_hosts_are_named_as_urls_have_them(text, host):
    """However a person writes a host, the change is of that host."""
    assert host_named(text) == host


@pytest.mark.parametrize("text", ["*", "a b", "https://example.com/", "example.com/x"])
def test_what_is_no_host(text):
    """A URL, and what no host can be called, is refused: the change would hold for nothing."""
    with pytest.raises(OptionError):
        host_named(text)


def test_words():
    """A change says what was, and what is."""
    assert str(change()) == "delay of a.example: 1 s → 5 s"
    assert in_words("max_pages", 0) == "no limit"
    assert in_words("deny", ("/a", "/b")) == "/a | /b"
    assert in_words("delay", None) == "as for others"


class TestLiveSheets:
    def test_by_hand_goes_over_sheets(self):
        """What was set by hand counts, an empty list as well, until it is taken back."""
        live = LiveSheets(Sheets([Sheet(hosts=("*",), delay=3.0, deny=("/x",))]))
        live.change("a.example", {"deny": (), "delay": 1.0})
        assert (live.of("a.example").delay, live.of("a.example").deny) == (1.0, ())
        assert live.configured("a.example").delay == 3.0
        live.change("a.example", {"delay": None})
        assert (live.of("a.example").delay, live.of("a.example").deny) == (3.0, ())
        assert live.of("b.example").deny == ("/x",)
