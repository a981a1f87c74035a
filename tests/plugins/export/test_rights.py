"""What pages and their hosts ask of machines, by the drafts and specifications that `rights` names."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest
from crawling import scrapy
from hypothesis import given
from hypothesis import strategies as st
from pagestore_helpers import STARTED, exchange, page

from sitecrawl.base.errors import StorageError
from sitecrawl.page.items import Exchange, Headers
from sitecrawl.pagestore import WarcStore
from sitecrawl.pagestore.reader import PageReader
from sitecrawl.plugins.agent.stored_crawl import StoredCrawl
from sitecrawl.plugins.export.formats import fields_named, row_of
from sitecrawl.plugins.export.pages import Choice, Pages
from sitecrawl.plugins.export.rights import Said, _HostRights
from sitecrawl.plugins.why.source import Source

AGENT = "sitecrawl"
URL = "https://a.example/docs/page?x=1"
RSL = "application/rsl+xml"


def said(headers: Headers = (), body: bytes = b"", *, robots: str = "", tdm: object = None, url: str = URL) -> Said:
    host = _HostRights.read(robots.encode(), None if tdm is None else json.dumps(tdm).encode(), AGENT)
    return Said.of(url, headers, body, content_type="text/html", charset="utf-8", host=host, agent=AGENT)


DRAFT = """User-Agent: *
Allow: /
Disallow: /never/
Content-Usage: train-ai=n
Content-Usage: /ai-ok/ train-ai=y

User-Agent: ExampleBot
Allow: /
Content-Usage: train-ai=y
"""
"""The example of draft-ietf-aipref-attach, section 3.4."""


@pytest.mark.parametrize(
    ("agent", "path", "preferences"),
    [
        (AGENT, "/test", "train-ai=n"),
        (AGENT, "/ai-ok/test", "train-ai=y"),
        ("ExampleBot", "/test", "train-ai=y"),
        ("ExampleBot", "/ai-ok/test", "train-ai=y"),
    ],
)
def test_the_drafts_own_example(agent: str, path: str, preferences: str) -> None:
    """The group for the crawler counts, and of its rules the longest path."""
    host = _HostRights.read(DRAFT.encode(), None, agent)
    url = f"https://a.example{path}"
    found = Said.of(url, (), b"", content_type="text/html", charset=None, host=host, agent=agent)
    assert found.preferences == preferences


@pytest.mark.parametrize(
    ("rules", "preferences"),
    [
        ("Content-Usage: train-ai=n, search=y", "search=y, train-ai=n"),
        ("Content-Usage: /docs/*?x train-ai=n", "train-ai=n"),
        ("Content-Usage: /docs$ train-ai=n", None),
        ("content-usage\t:\t/docs/\ttrain-ai=n # why", "train-ai=n"),
        ("Content-Usage: train-ai=no", None),
        ("Content-Usage: train-ai", None),
        ("Content-Usage: train-ai=n;x=1, train-ai=y", "train-ai=y"),
        ("Content-Usage: train-ai=n\nContent-Usage: train-ai=y", "train-ai=n"),
        ("Content-Signal: ai-train=no, ai-input=yes, search=yes", "ai-use=y, search=y, train-ai=n"),
        ("Content-Signal: ai-train=n", None),
        ("Content-Usage: /docs/ train-ai=y\nContent-Signal: ai-train=no", "train-ai=n"),
    ],
)
def test_rules_of_robots_txt(rules: str, preferences: str | None) -> None:
    """Words that the vocabulary has not say nothing; where two rules count, the one that restricts does."""
    assert said(robots=f"User-agent: *\n{rules}\n").preferences == preferences


def test_a_header_restricts_what_robots_txt_allows() -> None:
    """And the other way round: of what several say the most restrictive counts."""
    allowed = "User-agent: *\nContent-Usage: train-ai=y\n"
    assert said([(b"Content-Usage", b"train-ai=n, search=y")], robots=allowed).usage == {
        "train-ai": False,
        "search": True,
    }
    assert said([(b"content-usage", b"train-ai=y")], robots=allowed.replace("=y", "=n")).usage == {"train-ai": False}


FILE = [
    {"location": "/docs/*", "tdm-reservation": 1, "tdm-policy": "https://a.example/p.json"},
    {"location": "/", "tdm-reservation": 0},
]


def test_reservations() -> None:
    """A page's own <meta> counts before its headers, and these before the file of its host."""
    by_file = said(tdm=FILE)
    assert (by_file.reservation, by_file.policy) == (True, "https://a.example/p.json")
    assert said(tdm=FILE, url="https://a.example/else").reservation is False
    header = [(b"TDM-Reservation", b"0")]
    assert (said(header, tdm=FILE).reservation, said(header, tdm=FILE).policy) == (False, None)
    meta = b'<meta name="tdm-reservation" content="1"><meta name="tdm-policy" content="https://a.example/q">'
    by_page = said(header, meta, tdm=FILE)
    assert (by_page.reservation, by_page.policy) == (True, "https://a.example/q")
    assert said().reservation is None


@pytest.mark.parametrize(
    "tdm", [{}, "x", [1], [{"location": 1}], [{"location": "/", "tdm-reservation": "maybe"}], None]
)
def test_a_file_of_no_use(tdm: object) -> None:
    """It reserves nothing."""
    assert said(tdm=tdm).reservation is None


def test_licences() -> None:
    """Those of robots.txt, of Link headers and of the page, as absolute addresses; of the type of RSL alone."""
    link = [(b"Link", f'</b.xml>; rel="license"; type="{RSL}", </c>; rel="license"'.encode())]
    body = f'<link rel="license" type="{RSL}" href="d.xml"><link rel=license href=/e>'.encode()
    robots = "License: https://l.example/a.xml\nlicense: nothing\nUser-agent: *\n"
    assert said(link, body, robots=robots).licenses == [
        "https://l.example/a.xml",
        "https://a.example/b.xml",
        "https://a.example/docs/d.xml",
    ]


def test_directives() -> None:
    """Of headers and of the page, to all or to us."""
    headers = [(b"X-Robots-Tag", b"noai, otherbot: nofollow"), (b"x-robots-tag", b"sitecrawl: noarchive")]
    found = said(headers, b'<meta name="robots" content="NoImageAI, noindex"><meta name=otherbot content=none>')
    assert found.directives == ["noai", "noarchive", "noimageai", "noindex"]


@pytest.mark.parametrize(
    ("found", "refused"),
    [
        (Said(), set()),
        (Said(usage={"train-ai": False}), {"train-ai"}),
        (Said(usage={"ai": False}), {"train-ai", "ai-use"}),
        (Said(usage={"ai": False, "train-ai": True}), {"ai-use"}),
        (Said(usage={"train-ai": True, "search": True}), set()),
        (Said(reservation=True), {"search", "train-ai", "ai-use", "tdm"}),
        (Said(reservation=False), set()),
        (Said(licenses=["https://a.example/l"]), {"search", "train-ai", "ai-use", "tdm"}),
        (Said(directives=["noai"]), {"train-ai", "ai-use", "tdm"}),
        (Said(directives=["noindex"]), {"search"}),
        (Said(directives=["noimageai"]), set()),
    ],
)
def test_what_is_refused(found: Said, refused: set[str]) -> None:
    """By use; what nobody names is not refused."""
    assert {use for use in ("search", "train-ai", "ai-use", "tdm") if found.refuses(use, "text/html")} == refused


def test_an_image_of_which_no_machine_is_to_learn() -> None:
    """`noimageai` is about images."""
    assert Said(directives=["noimageai"]).refuses("train-ai", "image/png")


@given(st.binary(max_size=200), st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes(robots: bytes, tdm: bytes, body: bytes) -> None:
    """What nobody can read says nothing, and breaks nothing."""
    host = _HostRights.read(b"User-agent: *\nContent-Usage:" + robots, tdm, AGENT)
    headers = [(b"Content-Usage", body), (b"Link", robots), (b"TDM-Policy", tdm), (b"X-Robots-Tag", body)]
    Said.of(
        URL, headers, b"<meta name=robots>" + body, content_type="text/html", charset=None, host=host, agent=AGENT
    )


def at(url: str, after: float, body: bytes, *headers: tuple[bytes, bytes]) -> Exchange:
    return exchange(f"http://site.example{url}", body, started=STARTED + after, headers=headers)


HTML = (b"Content-Type", b"text/html; charset=utf-8")
PLAIN = (b"Content-Type", b"text/plain")


def stored(directory: Path) -> PageReader:
    """A crawl that has asked twice for robots.txt, which said something else the second time."""
    store = WarcStore(directory)
    for one in (
        at("/robots.txt", 0, b"User-agent: *\nContent-Usage: train-ai=n\n", PLAIN),
        at("/early", 1, b"<p>a", HTML),
        at("/robots.txt", 2, b"User-agent: *\nContent-Usage: train-ai=y\n", PLAIN),
        at("/late", 3, b"<p>b", HTML),
        at("/own", 4, b"<meta name=robots content=noai><p>c", HTML),
    ):
        store.put(one, None if "robots" in one.url else page(one))
    store.checkpoint()
    store.close()
    return PageReader(directory)


def rows(pages: Pages, **choice: Any) -> list[dict[str, Any]]:
    return [row_of(fields_named("url,usage,robots"), one) for one in pages.chosen(Choice(**choice))]


def test_columns(tmp_path: Path) -> None:
    """What robots.txt said when the page was fetched, whatever it says now."""
    with stored(tmp_path) as reader, Pages(reader) as pages:
        assert [(row["url"][20:], row["usage"], row["robots"]) for row in rows(pages)] == [
            ("early", "train-ai=n", []),
            ("late", "train-ai=y", []),
            ("own", "train-ai=y", ["noai"]),
        ]


def test_what_refuses_a_use_is_left_out(tmp_path: Path) -> None:
    """It is counted, and no part of the limit."""
    with stored(tmp_path) as reader, Pages(reader) as pages:
        assert [row["url"][20:] for row in rows(pages, use="train-ai", limit=1)] == ["late"]
        assert [row["url"][20:] for row in rows(pages, use="train-ai")] == ["late"]
        assert pages.refused == 3
        assert len(rows(pages, use="search")) == 3


def test_commands(tmp_path: Path) -> None:
    """A search and a table leave out what refuses the use, and say how much; an archive has all, and says so."""
    stored(tmp_path / "job").close()
    words = ("-d", str(tmp_path / "job"), "-s", "SITECRAWL_USE=train-ai")
    done = scrapy("search", "own", *words)
    assert (done.returncode, done.stdout) == (0, "")
    assert "left out, for they refuse train-ai: 1 page" in done.stderr
    assert "http://site.example/late" in scrapy("search", "late", *words).stdout
    done = scrapy("export", "--fields", "url", "--format", "csv", *words)
    assert "refuse train-ai: 2 pages" in done.stderr
    assert done.stdout.split() == ["url", "http://site.example/late"]
    done = scrapy("export", "--fields", "url", "--host", "site.example", "--url-like", "own", *words)
    assert (done.stdout, "left out, for" in done.stderr, "nothing has" in done.stderr) == ("", True, False)
    done = scrapy("export", "wacz", "-o", str(tmp_path / "out.wacz"), *words)
    assert "the archive has all pages, those that refuse train-ai, too" in done.stderr


def test_agents(tmp_path: Path) -> None:
    """An agent is not shown what refuses the use."""
    stored(tmp_path).close()
    crawl = StoredCrawl(lambda: PageReader(tmp_path), lambda: nullcontext(cast("Source", None)), "train-ai")
    assert crawl.search("own")["hits"] == []
    assert len(crawl.search("late")["hits"]) == 1
    assert crawl.page("http://site.example/late")["markdown"] == "b"
    with pytest.raises(StorageError, match="not to be used for train-ai"):
        crawl.page("http://site.example/own")
    assert [row["url"] for row in crawl.changes(since="2020-01-01")["changes"]] == ["http://site.example/late"]
