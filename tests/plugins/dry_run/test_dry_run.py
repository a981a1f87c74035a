"""A dry run: what it lists, what it says, and how little it asks for."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from crawling import crawl
from localweb import Answer, LocalWeb, linked

from sitecrawl.plugins.dry_run.look import _PAGES, _SITEMAPS, _Look

NAMES = [f"/{number}" for number in range(60)]
ROBOTS = Answer(b"User-agent: *\nDisallow: /3\nSitemap: /sitemap.xml\n", 200, {"Content-Type": "text/plain"})
LISTED = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{}</urlset>"
INDEX = "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{}</sitemapindex>"
XML = {"Content-Type": "text/xml"}


def site(root: str = "") -> dict[str, str | Answer]:
    """60 pages, and one that only a sitemap lists."""
    pages: dict[str, str | Answer] = {name: linked("/", title=name) for name in NAMES}
    listed = f"<url><loc>{root}/hidden</loc></url><url><loc>{root}/1</loc></url>"
    return {
        **pages,
        "/": linked(*NAMES, "http://elsewhere.example/"),
        "/robots.txt": ROBOTS,
        "/sitemap.xml": Answer(LISTED.format(listed).encode(), 200, XML),
    }


def test_a_look(tmp_path: Path) -> None:
    """The URLs to fetch are on stdout, the estimate on stderr; so few pages are asked for, and nothing is left."""
    with LocalWeb({}) as web:
        web.pages = site(web.root)
        done = crawl(web.root, tmp_path / "job", dry=1)
        asked = Counter(web.paths(robots=True))
    assert done.returncode == 0, done.stderr
    allowed = [name for name in NAMES if not name.startswith("/3")]
    assert {*done.stdout.split()} == {f"{web.root}{path}" for path in ("/", *allowed)}
    assert "sitemaps alone list 1 more, which sitemaps=1 would fetch" in done.stderr
    assert "11 URLs that it excludes" in done.stderr
    assert re.search(r"pages +at least 50\n", done.stderr), done.stderr
    assert re.search(r"time +at least 0:0\d:\d\d at this pace: 127.0.0.1", done.stderr)
    assert asked["/robots.txt"] == asked["/sitemap.xml"] == 1
    assert asked.total() == _PAGES + 2
    assert not any(path.startswith("/3") for path in asked)
    assert not (tmp_path / "job").exists()


def test_what_sitemaps_list(tmp_path: Path) -> None:
    """With sitemaps=1 it is among what would be fetched."""
    with LocalWeb({}) as web:
        web.pages = site(web.root)
        done = crawl(web.root, tmp_path / "job", dry=1, sitemaps=1)
    assert f"{web.root}/hidden" in done.stdout.split()
    assert "sitemaps alone list 1 of them" in done.stderr


def test_a_site_that_was_read_whole(tmp_path: Path) -> None:
    """Its number of pages is no estimate; a limit of pages counts."""
    with LocalWeb({"/": linked("/a", "/b"), "/a": "a", "/b": linked("/")}) as web:
        whole = crawl(web.root, tmp_path / "job", dry=1, SITECRAWL_DELAY_FACTOR=10)
        limited = crawl(web.root, tmp_path / "job", dry=1, max_pages=2)
    assert re.search(r"pages +3\n", whole.stderr)
    assert re.search(r"pages +max_pages: 2\n", limited.stderr)


def test_redirects(tmp_path: Path) -> None:
    """What is redirected to is listed and read as a page of its own; other sites' hosts are not asked."""
    with LocalWeb({}) as web, LocalWeb({"/": "elsewhere"}) as other:
        web.pages = {
            "/": to("/start"),
            "/start": linked("/old", "/away", "/circle", "/secret"),
            "/old": to("/new"),
            "/new": linked("/below"),
            "/below": "the end",
            "/away": to(f"{other.root}/"),
            "/circle": to("/circle"),
            "/secret": to("/private/"),
            "/robots.txt": Answer(b"User-agent: *\nDisallow: /private\n", 200, {"Content-Type": "text/plain"}),
        }
        done = crawl(web.root, tmp_path / "job", dry=1, scope="host")
        asked = Counter(web.paths())
        assert not other.hits
    assert done.returncode == 0, done.stderr
    found = ["/", "/start", "/old", "/new", "/below", "/away", "/circle", "/secret"]
    assert sorted(done.stdout.split()) == sorted(f"{web.root}{path}" for path in found)
    assert asked == Counter(found)
    assert f"{other.root}/: out of scope; {web.root}/away redirects there" in done.stderr
    assert "1 URL that it excludes" in done.stderr


def to(place: str) -> Answer:
    return Answer(b"", 301, {"Location": place})


def test_an_index_without_end(tmp_path: Path) -> None:
    """So many sitemaps are read, and it says how many are not."""

    def page(path: str, host: str) -> str | Answer | None:
        if path.endswith(".xml"):
            more = "".join(f"<sitemap><loc>http://{host}{path[:-4]}{n}.xml</loc></sitemap>" for n in range(3))
            return Answer(INDEX.format(more).encode(), 200, XML)
        return ROBOTS if path == "/robots.txt" else "one page" if path == "/" else None

    with LocalWeb(page) as web:
        done = crawl(web.root, tmp_path / "job", dry=1)
        asked = [path for path in web.paths() if path.endswith(".xml")]
    assert len(asked) == _SITEMAPS
    assert f"{2 * _SITEMAPS + 1} more that were not read" in done.stderr


def test_nobody_answers(tmp_path: Path) -> None:
    """It is said, and nothing is estimated; an earlier crawl in the directory is not touched."""
    job = tmp_path / "job"
    job.mkdir()
    done = crawl("http://127.0.0.1:9/", job, dry=1)
    assert (done.returncode, done.stdout) == (0, "")
    assert "not fetched   http://127.0.0.1:9/:" in done.stderr
    assert "time" not in done.stderr
    assert not [*job.iterdir()]


def test_an_output_of_the_crawl_is_left(tmp_path: Path) -> None:
    """A feed that another crawl has written is not overwritten."""
    feed = tmp_path / "pages.jsonl"
    feed.write_text("kept")
    with LocalWeb({"/": "a"}) as web:
        done = crawl(
            web.root, tmp_path / "job", dry=1, FEEDS=f'{{"{feed}": {{"format": "jsonl", "overwrite": true}}}}'
        )
    assert done.returncode == 0, done.stderr
    assert feed.read_text() == "kept"


@pytest.mark.parametrize(("one", "other", "least"), [("abc", "abc", 3), ("abcd", "cdef", 7), ("ab", "cd", 8)])
def test_an_estimate(one: str, other: str, least: int) -> None:
    """Chapman's: the less two catches share, the more there is; at least what was found."""
    assert _Look(found=dict.fromkeys(one + other, ""), catches=({*one}, {*other})).estimate() == least
