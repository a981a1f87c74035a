"""What is believed of a process that says what is on a page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from localweb import linked

from sitecrawl.page.items import Reading
from sitecrawl.page.links import PageOptions
from sitecrawl.page.process_serving import BadAnswer
from sitecrawl.plugins.isolation.facts import facts_of, reading_of
from sitecrawl.plugins.isolation.worker import read

URL = "http://a.example/"
BODY = ("<html lang=fi>" + linked("/b", "//c.example/ü", title="ü") + "<img src=/i srcset=/j>").encode()
OPTIONS = PageOptions(max_url_length=100, max_requisites=2)
READING = read(URL, BODY, [(b"Content-Type", b"text/html;charset=utf-8")], OPTIONS)


def again(**changed: Any) -> Reading:
    """What is read of the facts, some of them changed."""
    return reading_of({**facts_of(READING), **changed}, URL, BODY, OPTIONS)


def test_facts_come_back_as_they_were() -> None:
    """Through JSON, as between two processes."""
    assert reading_of(json.loads(json.dumps(facts_of(READING))), URL, BODY, OPTIONS) == READING


LIES: list[dict[str, Any]] = [
    {"links": [["file:///etc/passwd", "", "a", False]]},
    {"links": [["javascript:x", "", "a", False]]},
    {"links": [["/relative", "", "a", False]]},
    {"links": [["http://a.example/" + "x" * 100, "", "a", False]]},
    {"links": [["http://a.example/", "x" * 201, "a", False]]},
    {"links": [["http://a.example/", "", "script", False]]},
    {"links": [["http://a.example/", "", ["a"], False]]},
    {"links": [["http://a.example/", "", "a", 1]]},
    {"links": [["http://a.example/", "", "a"]]},
    {"links": [[b"", "", "a", False]]},
    {"links": ["http://a.example/"]},
    {"links": [None] * (51_000 + (1 << 20))},
    {"links": None},
    {"hrefs": -1},
    {"hrefs": 1 << 60},
    {"hrefs": True},
    {"language": "en-US"},
    {"language": "x" * 1000},
    {"language": ["en"]},
    {"requisites": [["file:///etc/passwd", "img"]]},
    {"requisites": [["http://a.example/", "a"]]},
    {"requisites": [["http://a.example/", ["img"]]]},
    {"requisites": [["http://a.example/", "img"]] * 3},
    {"requisites": ["http://a.example/"]},
    {"requisites": None},
    {"charset": "rot13"},
    {"charset": ["utf-8"]},
    {"content_type": "text/html; charset=rot13"},
    {"content_type": 1},
    {"title": "x" * 201},
    {"canonical": "ftp://a.example/"},
    {"base": None},
    {"noindex": 1},
    {"nofollow": None},
    {"text_hash": 1 << 64},
    {"text_hash": -1},
    {"text_hash": True},
    {"sample": b"\0"},
    {"sample": "xx"},
    {"sample": "08"},
    {"sample": "00" * 8},
    {"sample": "00" * 4105},
    {"sample": "01" + "00" * 8},
    {"met": {"limits/body_size": 1}},
    {"met": {"limits/links": 10**30}},
    {"met": None},
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: str(lie)[:60])
def test_what_no_page_has_is_not_believed(lie: dict[str, Any]) -> None:
    """A link to a file, a codec that is none, a number that overflows: all of the answer is refused."""
    with pytest.raises(BadAnswer):
        again(**lie)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
JSON = st.recursive(PLAIN, lambda some: st.lists(some) | st.dictionaries(st.text(), some), max_leaves=10)


@given(st.sampled_from(sorted(facts_of(READING))), JSON)
def test_whatever_is_said_is_a_page_or_refused(name: str, value: Any) -> None:
    """No value of any field raises anything else."""
    try:
        page = again(**{name: value}).page
    except BadAnswer:
        return
    assert page.text
    assert all(link.url.startswith(("http://", "https://")) for link in page.links)
