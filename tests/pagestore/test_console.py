from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pagestore_helpers import STARTED, exchange

from sitecrawl.base.display import visible
from sitecrawl.base.errors import OptionError
from sitecrawl.pagestore.capture import Place, describe
from sitecrawl.pagestore.console import parse_since, summary, visible_bytes

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
PLACE = Place("x.warc.gz", 0, 1, "A" * 32, None)


@given(st.text())
def test_no_control_character_reaches_a_terminal(text):
    """Whatever a page says, what is printed moves no cursor and turns no direction."""
    shown = visible(text)
    assert all(char.isprintable() or char in "\t\n" or not char.isascii() for char in shown)
    assert not set(shown) & set("\x1b\x07\r\x7f\x9b\u202e\u2066\u2028")


@given(st.binary(), st.sampled_from(["utf-8", "windows-1252", "utf-16", "x-unheard-of", None]))
def test_any_body_can_be_shown(body, charset):
    """Bytes that are no text are written out."""
    assert "\x1b" not in visible_bytes(body, charset)


def test_a_summary_names_target_and_original():
    """The line about a redirect says where it goes, that about a revisit where the body is."""
    of = exchange(status=301, headers=[(b"Location", b"/new")])
    line = summary(describe(2, of, None, PLACE._replace(revisit_of=1)))
    assert line.startswith("2027-01-15 08:00:00  301  -  http://site.example/ -> http://site.example/new")
    assert line.endswith("(body of capture 1)")


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
        ("2026-11-21T10:30", datetime(2026, 11, 21, 10, 30, tzinfo=UTC)),
        ("2026-11-21T10:30:00+02:00", datetime(2026, 11, 21, 8, 30, tzinfo=UTC)),
        ("90m", datetime(2026, 11, 21, 10, 30, tzinfo=UTC)),
        ("36h", datetime(2026, 11, 20, tzinfo=UTC)),
        ("1w", datetime(2026, 11, 14, 12, tzinfo=UTC)),
    ],
)
def test_times_as_people_write_them(text, time):
    """A date, a time, or how long ago."""
    assert parse_since(text, NOW) == time.timestamp()


@pytest.mark.parametrize("text", ["", "yesterday", "7", "-3d", "2026-13-01", "999999w"])
def test_what_is_no_time_is_said(text):
    """A wrong --since is an error with examples."""
    with pytest.raises(OptionError, match="write 2026"):
        parse_since(text, NOW)


def test_started_is_what_the_tests_think():
    """The constant of the helpers, as a date."""
    assert datetime.fromtimestamp(STARTED, UTC).year == 2027
