"""A row of the page index: its checksum, the counts of its links."""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path
from typing import Any

import pytest
from pagestore_helpers import exchange

from sitecrawl.page.items import Link, PageItem
from sitecrawl.page.links import read_page
from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.capture import BY_URL, NO_COUNTS, Capture, LinkCounter, LinkCounts, checksum
from sitecrawl.pagestore.warc_store import WarcStore

ROW: dict[str, Any] = dict.fromkeys(Capture._fields) | {"id": 1, "fetched": 1.5, "seconds": 0.25}


@pytest.mark.parametrize(
    "value",
    [
        None, "", "text", 'a "quoted" \\ one', "\x00\x1f\x7f\n", "\u00e9 \u65e5 \U0001f642", "\ud800", 0, -1, 1 << 70,
        0.1, 1e22, 5e-324, -0.0, math.nan, math.inf, -math.inf, True, [1, "two"],
    ],
)  # fmt: skip
def test_it_is_that_of_json(value: object) -> None:
    """Whatever stands in a column, as in docs/formats/page-store.md."""
    capture = Capture(**(ROW | {"title": value}))
    assert checksum(capture) == zlib.crc32(json.dumps([*capture]).encode())


def test_whole_numbers_in_columns_of_reals() -> None:
    """SQLite gives them back with a point."""
    assert checksum(Capture(**(ROW | {"fetched": 2}))) == checksum(Capture(**(ROW | {"fetched": 2.0})))


def test_bytes_are_no_value() -> None:
    with pytest.raises(TypeError):
        checksum(Capture(**(ROW | {"title": b"x"})))


URL = "http://www.site.com/"
HTML = b"""<base href=/folder/>
<a href=a><a href=a#part><a href=./a>                 the same three times
<a href='b?x=1&utm_source=feed'><a href='b?x=1'>      two URLs, one canonical one
<a href=//other.site.com/><a href=//www.site.com:8080/>   its site, not its host
<a href=//far.com/><a href=//far.com/2><a href=https://near.com/>
<a href=mailto:a@b.example><a href=javascript:x><a name=n><a href='http://['>   none
"""


def read(html: bytes = HTML, content_type: bytes = b"text/html", status: int = 200) -> PageItem:
    page = read_page(URL, html, [(b"Content-Type", content_type)])
    page.status = status
    return page


def test_they_are_counted_as_they_stand_and_once_each() -> None:
    """Near and far ones; what leads nowhere is no link."""
    assert BY_URL.count(read(), "www.site.com") == LinkCounts(10, 7, 2, 4)


def test_the_worker_is_asked_for_other_sites() -> None:
    """A site is one worker's as a whole, so its hosts are not asked for."""
    asked: list[str] = []

    def is_here(host: str) -> bool:
        asked.append(host)
        return host == "far.com"

    counter = LinkCounter(is_here=is_here)
    assert counter.count(read(), "www.site.com") == LinkCounts(10, 7, 2, 4, 6)
    assert sorted(asked) == ["far.com", "near.com"]


def test_links_to_many_hosts() -> None:
    """They are counted in another way, to the same end."""
    html = HTML + b"".join(b"<a href=//far%d.com/><a href=//far%d.com/2>" % (at, at) for at in range(30))
    assert BY_URL.count(read(html), "www.site.com") == LinkCounts(70, 67, 2, 4)


def test_what_has_a_fingerprint_is_known_by_it() -> None:
    """None is made anew for it; what has none is asked for."""
    page = read()
    for link in page.links[:6]:
        link.key = b"one"
    assert LinkCounter(identity=lambda url: b"other").count(page, "www.site.com").links == 2


def test_what_is_no_page_with_links() -> None:
    """An error, an image, and a page on which its reader broke have no numbers, which is not the same as none."""
    assert BY_URL.count(read(status=404), "a.example") == NO_COUNTS
    assert BY_URL.count(read(content_type=b"image/png"), "a.example") == NO_COUNTS
    broken = read()
    broken.quarantined = "timeout"
    assert BY_URL.count(broken, "a.example") == NO_COUNTS
    assert BY_URL.count(read(b"<p>"), "a.example") == LinkCounts(0, 0, 0, 0)


def test_a_page_that_was_made_by_hand() -> None:
    """Nobody counted how often its links stand there, and they may name no host."""
    page = PageItem(URL, status=200, content_type="text/html", links=[Link("http://b.example/", "")])
    assert LinkCounter(is_here=lambda host: True).count(page, "www.site.com") == LinkCounts(1, 1, 0, 0, 0)


def test_they_are_in_the_index(tmp_path: Path) -> None:
    """With the language."""
    html = b"<html lang=fi>" + HTML
    of, page = exchange(URL, html), read(html)
    page.exchange = of
    store = WarcStore(tmp_path, counter=LinkCounter(is_here=lambda host: False))
    store.put(of, page)
    store.put(exchange(URL, b"gone", status=404))
    store.checkpoint()
    store.close()
    with PageReader(tmp_path) as reader:
        found = [(one.language, *(getattr(one, name) for name in LinkCounts._fields)) for one in reader.captures()]
    assert found == [("fi", 10, 7, 2, 4, 4), (None, *NO_COUNTS)]
