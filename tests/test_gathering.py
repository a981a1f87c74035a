"""Sitemaps found, read and visited again by real crawls of local sites."""

from __future__ import annotations

import gzip
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from crawling import PROJECT, environment, scrapy, scrapy_command
from localweb import Answer, LocalWeb, Page, linked

from sitecrawl.fingerprint import HASH_NAME
from sitecrawl.pagestore import PageFilter, PageReader
from sitecrawl.sitemap.discover import How
from sitecrawl.sitemap.entry import Form
from sitecrawl.sitemap.record import Kind, SitemapRecord, State
from sitecrawl.sitemap.store import read_sitemaps
from sitecrawl.storage import Database

XML = {"Content-Type": "application/xml"}
SETTINGS = {"SITECRAWL_DELAY_FACTOR": 0, "RETRY_ENABLED": False}


def urlset(*paths: str, root: str = "", lastmod: str = "") -> bytes:
    date = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
    return b"<urlset>" + b"".join(f"<url><loc>{root}{p}</loc>{date}</url>".encode() for p in paths) + b"</urlset>"


def index(*paths: str) -> bytes:
    return b"<sitemapindex>" + b"".join(b"<sitemap><loc>%s</loc></sitemap>" % p.encode() for p in paths)


def crawl(spider: str, jobdir: Path, *words: str, **settings: object) -> subprocess.CompletedProcess[str]:
    done = scrapy("crawl", spider, *words, settings={"JOBDIR": jobdir, **SETTINGS, **settings})
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    return done


def gather(web: LocalWeb, jobdir: Path, **settings: object) -> dict[str, SitemapRecord]:
    """Crawl with the sitemap spider; gives the records by path."""
    crawl("sitemap", jobdir, "-a", f"domains={web.root}", **settings)
    return records(jobdir)


def records(jobdir: Path) -> dict[str, SitemapRecord]:
    with closing(Database(jobdir / "db", hash_name=HASH_NAME)) as database:
        return {"/" + record.url.split("/", 3)[3]: record for record in read_sitemaps(database)}


def sitemaps(found: dict[str, SitemapRecord]) -> dict[str, How]:
    return {p: r.how for p, r in found.items() if r.kind == Kind.SITEMAP and r.state == State.VALID}


class TestDiscovery:
    def test_robots(self, tmp_path: Path) -> None:
        """What robots.txt names is read, indexes to their ends, cycles once; every page is fetched, links are not."""
        site: dict[str, Page] = {
            "/": linked("/unlisted"),
            "/robots.txt": "User-agent: *\nDisallow: /private/\nSitemap: /maps/index.xml",
            "/maps/index.xml": Answer(index("a.xml", "b.xml.gz", "index.xml", "/maps/deep.xml"), headers=XML),
            "/maps/a.xml": Answer(urlset("/1", "/2"), headers=XML),
            "/maps/b.xml.gz": Answer(
                gzip.compress(urlset("/3", "/private/4")), headers={"Content-Type": "text/html"}
            ),
            "/maps/deep.xml": Answer(index("/maps/c.txt", "/maps/index.xml"), headers=XML),
            **{path: linked("/unlisted", title=path) for path in ("/1", "/2", "/3", "/5", "/private/4")},
        }
        with LocalWeb(site) as web:
            site["/maps/c.txt"] = Answer(f"{web.root}/5\n".encode(), headers={"Content-Type": "text/plain"})
            found = gather(web, tmp_path / "job")
            paths = web.paths()
        assert sorted(paths) == sorted([p for p in site if p not in ("/robots.txt", "/private/4")])
        assert sitemaps(found) == {
            "/maps/index.xml": How.ROBOTS, "/maps/a.xml": How.INDEX, "/maps/b.xml.gz": How.INDEX,
            "/maps/deep.xml": How.INDEX, "/maps/c.txt": How.INDEX,
        }  # fmt: skip
        assert [found["/maps/a.xml"].new, found["/maps/a.xml"].judged, found["/maps/a.xml"].good] == [2, 2, 2]
        assert found["/maps/b.xml.gz"].form == Form.URLSET

    def test_front_page(self, tmp_path: Path) -> None:
        """What the front page calls a site map is read, here a page of links."""
        site = {
            "/": '<a href="/karte">Inhaltsverzeichnis</a><a href="/about">About</a>',
            "/karte": linked(*(f"/{n}" for n in range(6)), title="map"),
            **{f"/{n}": linked(title=f"{n}") for n in range(6)},
        }
        with LocalWeb(site) as web:
            found = gather(web, tmp_path / "job")
            assert sorted(web.paths()) == sorted(site.keys() - {"/about"})
        assert sitemaps(found) == {"/karte": How.LINK}

    def test_usual_addresses(self, tmp_path: Path) -> None:
        """Where nothing is named the usual addresses are tried in their order, until one is a sitemap."""
        site: dict[str, Page] = {"/": linked(), "/sitemap.txt": "", "/1": linked(title="1")}
        with LocalWeb(site) as web:
            site["/sitemap.txt"] = f"{web.root}/1"
            found = gather(web, tmp_path / "job")
            asked = [path for path in web.paths() if not path.startswith("/sitemap-")]
        assert asked == ["/", "/sitemap.xml", "/sitemap_index.xml", "/sitemap.txt", "/1"]
        assert sitemaps(found) == {"/sitemap.txt": How.USUAL}

    def test_soft_404(self, tmp_path: Path) -> None:
        """A site that answers every address with the same page has no sitemap, and the search ends."""
        lost = linked(*(f"/{n}" for n in range(9)), title="Oops")
        with LocalWeb(lambda path, _: lost if path != "/robots.txt" else None) as web:
            found = gather(web, tmp_path / "job")
            assert len(web.paths()) < 70
        assert sitemaps(found) == {}
        pages = PageReader(tmp_path / "job").pages(PageFilter(kind="page", status=200))
        assert [page.url for page in pages] == [f"{web.root}/"]

    def test_a_redirect(self, tmp_path: Path) -> None:
        """A sitemap that has moved is known by where it is, and one that leads to the front page is none."""
        site: dict[str, Page] = {
            "/": linked(),
            "/robots.txt": "Sitemap: /old.xml\nSitemap: /gone.xml",
            "/old.xml": Answer(status=301, headers={"Location": "/new.xml"}),
            "/gone.xml": Answer(status=302, headers={"Location": "/"}),
            "/new.xml": Answer(urlset("/1"), headers=XML),
            "/1": linked(title="1"),
        }
        with LocalWeb(site) as web:
            found = gather(web, tmp_path / "job")
            assert "/1" in web.paths()
        assert sitemaps(found) == {"/new.xml": How.ROBOTS}
        assert (found["/old.xml"].state, found["/gone.xml"].state) == (State.MOVED, State.INVALID)

    def test_spam(self, tmp_path: Path) -> None:
        """URLs of other hosts are dropped and counted, unless their robots.txt names the sitemap."""
        site: dict[str, Page] = {"/": linked(), "/robots.txt": "Sitemap: /s.xml", "/1": linked(title="1")}
        with LocalWeb(site) as web, LocalWeb(site, address="127.0.0.2") as other:
            site["/s.xml"] = Answer(urlset(f"{web.root}/1", f"{other.root}/1", "http://evil.example/"), headers=XML)
            crawl("sitemap", tmp_path / "one", "-a", f"domains={web.root}", "-a", "scope=any")
            assert (web.paths().count("/1"), other.paths().count("/1")) == (1, 0)
            record = records(tmp_path / "one")["/s.xml"]
            assert (record.entries, record.alien) == (1, 2)
            names_it = {**site, "/robots.txt": f"Sitemap: {web.root}/s.xml"}
            other.pages = names_it
            crawl("sitemap", tmp_path / "two", "-a", f"domains={web.root},{other.root}", "-a", "scope=any")
            assert other.paths().count("/1") == 1
            record = records(tmp_path / "two")["/s.xml"]
            assert (record.entries, record.alien) == (2, 1)


def test_generic(tmp_path: Path) -> None:
    """With `sitemaps=1`, `generic` fetches what pages link to and what sitemaps list; without it, links alone."""
    site: dict[str, Page] = {
        "/": linked("/linked"),
        "/sitemap.xml": Answer(urlset("/listed"), headers=XML),
        "/linked": linked(title="a"),
        "/listed": linked("/beyond", title="b"),
        "/beyond": linked(title="c"),
    }
    with LocalWeb(site) as web:
        crawl("generic", tmp_path / "one", "-a", f"seeds={web.root}", "-a", "sitemaps=1")
        assert {"/linked", "/listed", "/beyond"} < set(web.paths())
    with LocalWeb(site) as web:
        crawl("generic", tmp_path / "two", "-a", f"seeds={web.root}")
        assert sorted(web.paths()) == ["/", "/linked"]


def test_by_hand(tmp_path: Path) -> None:
    """A sitemap and a hub page that are named are visited, also where no one else names them."""
    site: dict[str, Page] = {
        "/": linked(),
        "/mine.xml": Answer(urlset("/1"), headers=XML),
        "/news": linked("/2", title="news"),
        "/1": linked(title="1"),
        "/2": linked(title="2"),
    }
    with LocalWeb(site) as web:
        words = ["-a", f"sitemaps={web.root}/mine.xml", "-a", f"hubs={web.root}/news"]
        crawl("sitemap", tmp_path / "job", *words)
        assert {"/1", "/2"} < set(web.paths())
    assert sitemaps(records(tmp_path / "job")).items() >= {("/mine.xml", How.HAND), ("/news", How.HAND)}


class Changing:
    """A site whose sitemap grows by a page with every visit, and knows ETags."""

    def __init__(self) -> None:
        self.visits = 0
        self.grows = True
        self.etags: list[str] = []

    def __call__(self, path: str, host: str) -> Page | None:
        if path == "/robots.txt":
            return "Sitemap: /s.xml"
        if path == "/s.xml":
            self.visits += self.grows
            pages = [f"/p{n}" for n in range(self.visits)]
            return Answer(urlset(*pages), headers={**XML, "ETag": f'"{self.visits}"'})
        return linked(title=path) if path == "/" or path.startswith("/p") else None


@pytest.fixture
def fast() -> dict[str, object]:
    return {"SITECRAWL_SITEMAP_MIN_INTERVAL": 1, "SITECRAWL_SITEMAP_MAX_INTERVAL": 1, **SETTINGS}


def watch(web: LocalWeb, jobdir: Path, settings: dict[str, object]) -> Iterator[None]:
    """A watching crawl; every step is a quarter of a second of it, a minute at most."""
    words = scrapy_command(
        "crawl", "sitemap", "-a", f"domains={web.root}", "-a", "watch=1", settings={"JOBDIR": jobdir, **settings}
    )
    with subprocess.Popen(words, cwd=PROJECT, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(240):
                assert process.poll() is None, process.stderr.read() if process.stderr else ""
                yield
                time.sleep(0.25)
        finally:
            process.kill()


def test_watch(tmp_path: Path, fast: dict[str, object]) -> None:
    """A watching crawl stays when all is fetched, and fetches what is new in the sitemap; also after a kill."""
    site = Changing()
    with LocalWeb(site) as web:
        for _ in watch(web, tmp_path / "job", fast):
            if "/p2" in web.paths():
                break
        assert "/p2" in web.paths()
        for _ in watch(web, tmp_path / "job", fast):
            if "/p5" in web.paths():
                break
        assert "/p5" in web.paths()
        checked = scrapy("check-crawl", str(tmp_path / "job"))
        assert checked.returncode == 0, checked.stdout + checked.stderr
        conditional = [hit for hit in web.hits if hit.path == "/s.xml" and "If-None-Match" in hit.headers]
        assert conditional


def test_pages_that_change(tmp_path: Path, fast: dict[str, object]) -> None:
    """A page is fetched again when the sitemap says that it has changed since."""
    lastmod, versions = ["2020-01-01"], count(1)

    def site(path: str, host: str) -> Page | None:
        if path == "/robots.txt":
            return "Sitemap: /s.xml"
        if path == "/s.xml":
            return Answer(urlset("/page", lastmod=lastmod[-1]), headers=XML)
        if path == "/page":
            return linked(title=f"version {next(versions)}")
        return linked() if path == "/" else None

    with LocalWeb(site) as web:
        for _ in watch(web, tmp_path / "job", fast):
            if web.paths().count("/s.xml") == 3:
                assert web.paths().count("/page") == 1
                lastmod.append(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
            if web.paths().count("/page") == 2:
                break
        assert web.paths().count("/page") == 2


def test_arguments(tmp_path: Path) -> None:
    """A switch is 1 or 0."""
    done = scrapy(
        "crawl", "generic", "-a", "seeds=http://a.example", "-a", "watch=yes", settings={"JOBDIR": tmp_path}
    )
    assert (done.returncode, "watch is 1 or 0, and not 'yes'" in done.stderr) == (1, True)
    assert not list(tmp_path.iterdir())
