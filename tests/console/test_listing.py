"""The formats of the commands that list."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from typing import Any

import pytest
from pagestore_helpers import exchange, page

from sitecrawl.base.display import one_line
from sitecrawl.console.commands.frontier import HELD, SITES, UNITS, URLS
from sitecrawl.console.commands.pages import CAPTURES
from sitecrawl.console.listing import FORMATS, Layout, write
from sitecrawl.frontier.judge.held import HeldSet, Sample, Unit
from sitecrawl.frontier.reader import KnownUrl, Site
from sitecrawl.pagestore.capture import Place, describe

HOSTILE = "a\x1b]0;owned\x07\x9b2J\u202e\r\n\tb"
CONTROLS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
URL = KnownUrl(0.25, 3, 0, "queued", f"http://{HOSTILE}/")
SITE = Site(1.0, 2, 3, HOSTILE)
UNIT = Unit(HOSTILE, f"/{HOSTILE}/*", 1234, 5678, 9, 0, 20.0, demoted=True, reason="demoted since fetch 7")
HELD_BACK = HeldSet(
    HOSTILE, f"/{HOSTILE}/*", 1234, 5678, 9, 0, 20.0, demoted=True, reason="since fetch 7", why="grows", since=7,
    elsewhere=0.25, fetched_urls=[Sample(HOSTILE, 200, good=True)], waiting_urls=[HOSTILE, HOSTILE],
)  # fmt: skip
LAYOUTS: dict[type, Layout[Any]] = {KnownUrl: URLS, Site: SITES, Unit: UNITS, HeldSet: HELD}


def capture(title):
    of = exchange("http://site.example/\x1b[2J")
    return describe(1, of, page(of, title=title), Place("x.warc.gz", 0, 1, "A" * 32, None))


def written(row, name: str) -> str:
    out = StringIO()
    write([row], LAYOUTS[type(row)], out, format=name)
    return out.getvalue()


@pytest.mark.parametrize("name", sorted({*FORMATS} - {"urls"}))
@pytest.mark.parametrize("row", [URL, SITE, UNIT, HELD_BACK], ids=lambda row: type(row).__name__)
def test_nothing_that_a_terminal_obeys(row, name):
    """No format lets a control character of the web through, nor a second line."""
    text = written(row, name)
    assert not CONTROLS.search(text)
    in_table = {Unit: 3, HeldSet: 6}.get(type(row), 2)
    assert len(text.splitlines()) == (1 if name == "jsonl" else in_table if name == "table" else 2)


@pytest.mark.parametrize("row", [URL, SITE, UNIT], ids=lambda row: type(row).__name__)
def test_jsonl_is_lossless(row):
    """A program gets every field as it is stored."""
    assert json.loads(written(row, "jsonl")) == row._asdict()


@pytest.mark.parametrize("row", [URL, SITE, UNIT], ids=lambda row: type(row).__name__)
def test_csv_has_a_header(row):
    """The columns are named, and there are as many in each row."""
    header, values = csv.reader(StringIO(written(row, "csv")))
    assert tuple(header) == row._fields
    assert values == ["" if v is None else one_line(v) if isinstance(v, str) else str(v) for v in row]


def test_table_of_what_waits():
    """A section stands with its host, a reason in a line of its own."""
    out = StringIO()
    host = Unit("a.com", "", 1234, 5678, 9, 8, 0.5, demoted=False, reason="")
    section = Unit("a.com", "/x/*", 1, 2, 3, 0, 20.0, demoted=True, reason="demoted since fetch 7")
    write([host, section], UNITS, out, format="table")
    assert out.getvalue() == (
        "    waiting        known      fetched         good  novelty  host or section\n"
        "      1,234        5,678            9            8     0.50  a.com\n"
        "          1            2            3            0    20.00  a.com/x/*\n"
        "             demoted since fetch 7\n"
    )


def test_table_of_what_is_important():
    """A URL that has not been fetched has no status."""
    assert written(KnownUrl(1.5e-7, 12, 0, "queued", "http://a.com/"), "table").splitlines() == [
        "importance  depth  status  state     url",
        "   1.5e-07     12       -  queued    http://a.com/",
    ]


@pytest.mark.parametrize(("name", "lines"), [("csv", 1), ("jsonl", 0), ("table", 0)])
def test_nothing_to_show(name, lines):
    """Without rows there is at most a header for programs."""
    out = StringIO()
    write([], SITES, out, format=name)
    assert len(out.getvalue().splitlines()) == lines


def test_urls_are_seeds():
    """A list of URLs has one a line and nothing else."""
    out = StringIO()
    write([URL, URL._replace(url="http://a.com/?q=%0A")], URLS, out, format="urls")
    assert out.getvalue().splitlines() == [f"http://{one_line(HOSTILE)}/", "http://a.com/?q=%0A"]


@pytest.mark.parametrize("name", ["table", "csv", "urls"])
def test_a_hostile_title_is_one_harmless_line(name):
    """A title and a URL with terminal escapes and line breaks stay one line of text."""
    out = StringIO()
    write([capture(title=HOSTILE)], CAPTURES, out, format=name)
    lines = out.getvalue().splitlines()
    assert len([line for line in lines if "site.example" in line]) == 1
    assert "\x1b" not in out.getvalue()


def test_formats_say_the_same():
    """JSON lines and CSV have all columns; CSV begins with their names."""
    one = capture(title='A, "B"')
    lines, table = StringIO(), StringIO()
    write([one], CAPTURES, lines, format="jsonl")
    write([one], CAPTURES, table, format="csv")
    assert json.loads(lines.getvalue()) == one._asdict()
    (row,) = csv.DictReader(StringIO(table.getvalue()))
    assert (row["title"], row["status"]) == ('A, "B"', "200")


def test_nothing_is_nothing():
    """An empty list has no header, so that a pipe counts no line."""
    out = StringIO()
    write([], CAPTURES, out, format="table")
    assert out.getvalue() == ""
