"""Sitemaps found, read and visited again by real crawls of local sites."""

from __future__ import annotations

import gzip
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path

import pytest
from crawling import at_work, scrapy, states_of
from localweb import Answer, LocalWeb, Page, linked
from waiting import Found, until

from sitecrawl.base.errors import StorageError
from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawl.sitemaps.entry import Form
from sitecrawl.crawl.sitemaps.locations import GUESSES, How, usual
from sitecrawl.crawl.sitemaps.record import SitemapKind, SitemapRecord, SitemapState
from sitecrawl.crawl.sitemaps.store import read_sitemaps
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.pagestore import PageFilter, PageReader
from sitecrawl.urls.url import parse

XML = {"Content-Type": "application/xml"}
USUAL = [url.href.removeprefix("http://a.example") for url in usual(parse("http://a.example"))]
SETTINGS: dict[str, object] = {"SITECRAWL_DELAY_FACTOR": 0, "RETRY_ENABLED": False}


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


def stored(jobdir: Path) -> list[SitemapRecord]:
    """Of a crawl that may be running."""
    with closing(Database(jobdir / "db", hash_name=HASH_NAME, read_only=True)) as database:
        return list(read_sitemaps(database))


def records(jobdir: Path) -> dict[str, SitemapRecord]:
    return {"/" + record.url.split("/", 3)[3]: record for record in stored(jobdir)}


def not_guessed(paths: list[str]) -> list[str]:
    """Without the usual addresses, and the one that cannot exist."""
    return [path for path in paths if path not in USUAL and not path.startswith("/sitemap-")]


def sitemaps(found: dict[str, SitemapRecord]) -> dict[str, How]:
    return {p: r.how for p, r in found.items() if r.kind == SitemapKind.SITEMAP and r.state == SitemapState.VALID}


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
            robots = [path for path in web.paths(robots=True) if path == "/robots.txt"]
        assert sorted(not_guessed(paths)) == sorted([p for p in site if p not in ("/robots.txt", "/private/4")])
        assert len(robots) == 1
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
            assert sorted(not_guessed(web.paths())) == sorted(site.keys() - {"/about"})
        assert sitemaps(found) == {"/karte": How.LINK}

    def test_usual_addresses(self, tmp_path: Path) -> None:
        """The usual addresses are tried in their order, the first `GUESSES` of them where one is a sitemap."""
        site: dict[str, Page] = {"/": linked(), "/sitemap.txt": "", "/1": linked(title="1")}
        with LocalWeb(site) as web:
            site["/sitemap.txt"] = f"{web.root}/1"
            found = gather(web, tmp_path / "job")
            assert [path for path in web.paths() if path in USUAL] == USUAL[:GUESSES]
            assert not_guessed(web.paths()) == ["/", "/1"]
        assert sitemaps(found) == {"/sitemap.txt": How.USUAL}

    def test_a_small_site(self, tmp_path: Path) -> None:
        """A page at a usual address is a sitemap however few links it has, if the host says what is missing."""
        pages = {f"/{number}": linked(title=f"{number}") for number in range(4)}
        with LocalWeb({"/": linked(), "/sitemap.html": linked(*pages, title="map"), **pages}) as web:
            found = gather(web, tmp_path / "job")
            assert set(pages) < set(web.paths())
        assert sitemaps(found) == {"/sitemap.html": How.USUAL}

    def test_links_of_a_page_to_other_sites(self, tmp_path: Path) -> None:
        """A page that is a sitemap speaks for its own site, whatever the scope, as files of URLs do."""
        site: dict[str, Page] = {"/": linked(), "/1": linked(title="1")}
        with LocalWeb(site) as web, LocalWeb(site, address="127.0.0.2") as other:
            site["/sitemap.html"] = linked("/1", f"{other.root}/1")
            crawl("sitemap", tmp_path / "job", "-a", f"domains={web.root}", "-a", "scope=any")
            assert ("/1" in web.paths(), other.paths()) == (True, [])
        record = records(tmp_path / "job")["/sitemap.html"]
        assert (record.entries, record.alien) == (1, 1)

    def test_a_guess_is_no_error(self, tmp_path: Path) -> None:
        """What is not at the usual addresses counts for itself; what robots.txt names has to be there."""
        with LocalWeb({"/": linked(), "/robots.txt": "Sitemap: /gone.xml"}) as web:
            told = crawl("sitemap", tmp_path / "job", "-a", f"domains={web.root}").stderr
            guessed = set(web.paths()) - {"/", "/robots.txt", "/gone.xml"}
        assert re.search(r"4xx errors +1  404 \(1\)", told)
        assert re.search(rf"guesses +{len(guessed)} ", told)
        assert re.search(r"most errors +\S+ \(1\)", told)
        assert len(guessed) > 3

    def test_a_guess_that_fails_is_an_error(self, tmp_path: Path) -> None:
        """Every attempt, as of any other URL; and what is asked for anew by a project's wish counts each time."""
        site: dict[str, Page] = {
            "/": linked(),
            "/sitemap.xml": Answer(status=500),
            "/sitemap.txt": Answer(status=403),
        }
        with LocalWeb(site) as web:
            retries = {"RETRY_ENABLED": True, "RETRY_HTTP_CODES": "500,403", "RETRY_TIMES": 1}
            told = crawl("sitemap", tmp_path / "job", "-a", f"domains={web.root}", **retries).stderr
            paths = web.paths()
        assert paths.count("/sitemap.xml") == paths.count("/sitemap.txt") == 2
        assert re.search(r"5xx errors +2  500 \(2\)", told)
        assert re.search(rf"guesses +{len(paths) - 3} ", told)
        assert "4xx errors" not in told
        assert re.search(r"most errors +\S+ \(1\)", told)

    def test_soft_404(self, tmp_path: Path) -> None:
        """A site that answers every address with the same page has no sitemap, and the search ends."""
        lost = linked(*(f"/{n}" for n in range(9)), title="Oops")
        with LocalWeb(lambda path, _: lost if path != "/robots.txt" else None) as web:
            found = gather(web, tmp_path / "job")
            assert len(web.paths()) == 1 + 1 + GUESSES
        assert sitemaps(found) == {}
        with PageReader(tmp_path / "job") as reader:
            pages = [page.url for page in reader.pages(PageFilter(kind="page", status=200))]
        assert pages == [f"{web.root}/"]

    def test_a_soft_404_that_is_named(self, tmp_path: Path) -> None:
        """A page at an address that robots.txt names as an XML sitemap is none: the search goes on."""
        lost = linked(*(f"/{n}" for n in range(9)), title="Oops")
        site: dict[str, Page] = {"/robots.txt": "Sitemap: /named.xml"}
        site["/sitemap_index.xml"] = Answer(urlset("/listed"), headers=XML)
        with LocalWeb(lambda path, _: site.get(path, lost)) as web:
            found = gather(web, tmp_path / "job")
            assert "/listed" in web.paths()
            assert "/0" not in web.paths()
        assert sitemaps(found) == {"/sitemap_index.xml": How.USUAL}

    def test_redirects(self, tmp_path: Path) -> None:
        """A sitemap that has moved is known by where it is; one that leads to the front page, or nowhere, is none."""

        def to(path: str) -> Answer:
            return Answer(status=301, headers={"Location": path})

        elsewhere: dict[str, Page] = {}
        site: dict[str, Page] = {
            "/": linked("/linked.xml"),
            "/robots.txt": "Sitemap: /old.xml\nSitemap: /gone.xml\nSitemap: /out.xml\nSitemap: /a.xml",
            "/old.xml": to("/linked.xml"),
            "/gone.xml": to("/"),
            "/a.xml": to("/b.xml"),
            "/b.xml": to("/a.xml"),
            "/linked.xml": Answer(urlset("/1"), headers=XML),
            "/1": linked(title="1"),
            "/2": linked(title="2"),
        }
        with LocalWeb(site) as web, LocalWeb(elsewhere, address="127.0.0.3") as other:
            site["/out.xml"] = to(f"{other.root}/in.xml")
            elsewhere["/in.xml"] = Answer(urlset("/2", root=web.root), headers=XML)
            words = ["-a", f"seeds={web.root}", "-a", "sitemaps=1"]
            crawl("generic", tmp_path / "job", *words, SITECRAWL_ALLOW_PRIVATE=True)
            assert {"/1", "/2"} < set(web.paths())
            assert other.paths() == ["/in.xml"]
        found = {record.url: record for record in stored(tmp_path / "job")}
        assert sitemaps(records(tmp_path / "job")) == {"/linked.xml": How.ROBOTS, "/in.xml": How.ROBOTS}
        moved = {url for url, record in found.items() if record.state == SitemapState.MOVED}
        assert moved == {f"{web.root}/{name}.xml" for name in ("old", "out", "a", "b")}
        assert found[f"{web.root}/gone.xml"].state == SitemapState.INVALID

    @pytest.mark.deep
    def test_a_front_page_that_has_moved(self, tmp_path: Path) -> None:
        """Where a front page leads to another host of the crawl, that host is searched; each has one robots.txt."""
        site: dict[str, Page] = {"/": linked(), "/robots.txt": "Sitemap: /s.xml", "/1": linked(title="1")}
        site["/s.xml"] = Answer(urlset("/1"), headers=XML)
        with LocalWeb(site, address="127.0.0.2") as other:
            to = Answer(status=301, headers={"Location": f"{other.root}/"})
            with LocalWeb({"/": to}) as web:
                crawl("sitemap", tmp_path / "job", "-a", f"domains={web.root}", SITECRAWL_ALLOW_PRIVATE=True)
                assert web.paths(robots=True) == ["/robots.txt", "/"]
        assert sorted(not_guessed(other.paths(robots=True))) == ["/", "/1", "/robots.txt", "/s.xml"]

    @pytest.mark.deep
    @pytest.mark.parametrize("spider", ["generic", "sitemap"])
    def test_indexes_without_end(self, tmp_path: Path, spider: str) -> None:
        """Indexes of indexes without end cost their host its budget, and no other anything; the crawl says so."""

        def endless(path: str, host: str) -> Page | None:
            if path == "/robots.txt":
                return "Sitemap: /m.xml"
            if path.startswith("/m"):
                return Answer(index(*(f"{path[:-4]}-{number}.xml" for number in range(300))), headers=XML)
            return linked("/1", "/2", "/3", title=path) if path in {"/", "/1", "/2", "/3"} else None

        pages = [f"/{number}" for number in range(30)]
        good: dict[str, Page] = {path: linked("/", title=path) for path in ("/", *pages)}
        good |= {"/robots.txt": "Sitemap: /s.xml", "/s.xml": Answer(urlset(*pages), headers=XML)}
        with closing(LocalWeb(endless)) as hostile, closing(LocalWeb(good, address="127.0.0.2")) as other:
            words = [f"{'seeds' if spider == 'generic' else 'domains'}={hostile.root},{other.root}"]
            words += ["sitemaps=1"] if spider == "generic" else []
            given = [word for argument in words for word in ("-a", argument)]
            done = crawl(spider, tmp_path, *given, SITECRAWL_SITEMAP_BUDGET=120)
            asked = [path for path in hostile.paths() if path.startswith("/m")]
            assert len(set(asked)) == 120
            assert len(asked) <= 125
            assert {*pages, "/s.xml"} <= set(other.paths())
            assert spider == "sitemap" or {"/1", "/2", "/3"} <= set(hostile.paths())
        assert "The crawl finished: nothing is left to fetch" in done.stderr + done.stdout
        assert "sitemaps left out" in done.stderr + done.stdout

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
    """With `sitemaps=1`, `generic` fetches what pages link to and what sitemaps list."""
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


def test_by_hand(tmp_path: Path) -> None:
    """Sitemaps and hub pages that are named are visited, and no others; also when the crawl knows them already."""
    site: dict[str, Page] = {
        "/": linked(),
        "/robots.txt": "Sitemap: /other.xml",
        "/other.xml": Answer(urlset("/3"), headers=XML),
        "/mine.xml": Answer(urlset("/1"), headers=XML),
        "/1": linked(title="1"),
        "/3": linked(title="3"),
    }
    with LocalWeb(site) as web, LocalWeb({"/news": linked("/2"), "/2": linked()}, address="127.0.0.2") as hub:
        words = ["-a", f"sitemaps={web.root}/mine.xml", "-a", f"hubs={hub.root}/news"]
        crawl("sitemap", tmp_path / "job", *words)
        assert (web.paths(), hub.paths()) == (["/mine.xml", "/1"], ["/news", "/2"])
        crawl("sitemap", tmp_path / "job", *words)
        assert web.paths() == ["/mine.xml", "/1", "/mine.xml"]
    assert sitemaps(records(tmp_path / "job")) == {"/mine.xml": How.HAND, "/news": How.HAND}


FAST: dict[str, object] = {
    "LIMITS": {
        "sitecrawl.crawl.sitemaps.record.MAX_INTERVAL": 1,
        "sitecrawl.crawl.sitemaps.record.MIN_INTERVAL": 1,
    },
    **SETTINGS,
}


def watch(
    domains: str, jobdir: Path, settings: dict[str, object], condition: Callable[[], Found], what: str
) -> Found:
    """A watching crawl that is killed as soon as `condition` gives something; what it gave."""
    words = ("crawl", "sitemap", "-a", f"domains={domains}", "-a", "watch=1")
    log = jobdir.with_name("watch.log")
    with at_work(*words, settings={"JOBDIR": jobdir, **settings}, log=log) as process:

        def looked() -> Found:
            assert process.poll() is None, log.read_text()
            return condition()

        return until(looked, what)


class Growing:
    """A site whose sitemap grows by a page with every visit, and knows ETags."""

    def __init__(self) -> None:
        self.visits = 0

    def __call__(self, path: str, host: str) -> Page | None:
        if path == "/robots.txt":
            return "Sitemap: /s.xml"
        if path == "/s.xml":
            self.visits += 1
            pages = [f"/p{n}" for n in range(self.visits)]
            return Answer(urlset(*pages), headers={**XML, "ETag": f'"{self.visits}"'})
        return linked(title=path) if path == "/" or path.startswith("/p") else None


class Dated:
    """A site with a sitemap whose dates are true, and one that calls all its pages changed, always."""

    lies = tuple(f"/same/{n}" for n in range(60))

    def __init__(self) -> None:
        self.lastmod = "2020-01-01"
        self._versions = count(1)

    def __call__(self, path: str, host: str) -> Page | None:
        if path == "/robots.txt":
            return "Sitemap: /s.xml\nSitemap: /lies.xml"
        if path == "/s.xml":
            return Answer(urlset("/page", lastmod=self.lastmod), headers=XML)
        if path == "/lies.xml":
            return Answer(urlset(*self.lies, lastmod=_now()), headers=XML)
        if path == "/page":
            return linked(title=f"version {next(self._versions)}")
        return linked(title=path) if path == "/" or path in self.lies else None


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Watched:
    """One watching crawl of three hosts, on which this and that happens."""

    def __init__(self, jobdir: Path, growing: LocalWeb, dated: LocalWeb, port: int) -> None:
        self.jobdir, self.growing, self.dated = jobdir, growing, dated
        self.site: dict[str, Page] = {"/": linked(), "/robots.txt": "Sitemap: /s.xml"}
        self.site |= {f"/{n}": linked(title=f"{n}") for n in range(1, 4)}
        self.site["/s.xml"] = Answer(urlset("/1"), headers=XML)
        self.down = f"http://127.0.0.3:{port}"
        self.back: LocalWeb | None = None
        """What was down at first."""
        self._forbidden_after = 0

    def run(self) -> None:
        domains = f"{self.growing.root},{self.dated.root},{self.down}"
        settings = FAST | {"SITECRAWL_FAILURE_DELAY": 0.01}
        with ExitStack() as stack:
            watch(domains, self.jobdir, settings, lambda: self._step(stack), "all that is to happen has happened")

    def _step(self, stack: ExitStack) -> bool:
        if self.back is None and self._is_found_down():
            port = int(self.down.rpartition(":")[2])
            self.back = stack.enter_context(LocalWeb(self.site, address="127.0.0.3", port=port))
        self._change()
        return self._is_over()

    def _is_found_down(self) -> bool:
        found = stored_so_far(self.jobdir)
        return any(record.state == SitemapState.INVALID and record.url.startswith(self.down) for record in found)

    def _change(self) -> None:
        pages: Dated = self.dated.pages  # type: ignore[assignment]
        if self.dated.paths().count("/s.xml") >= 3 and pages.lastmod == "2020-01-01":
            assert self.dated.paths().count("/page") == 1
            pages.lastmod = _now()
        asked = self.back.paths(robots=True) if self.back is not None else []
        if "/1" in asked and not self._forbidden_after:
            self._forbidden_after = asked.count("/robots.txt")
            self.site["/robots.txt"] = "User-agent: *\nDisallow: /2\nSitemap: /s.xml"
        elif 0 < self._forbidden_after < asked.count("/robots.txt"):
            self.site["/s.xml"] = Answer(urlset("/1", "/2", "/3"), headers=XML)

    def _is_over(self) -> bool:
        is_grown = "/p3" in self.growing.paths()
        is_back = self.back is not None and "/3" in self.back.paths()
        return is_grown and is_back and self.dated.paths().count("/page") == 2 and self.believed() > 0

    def believed(self) -> int:
        """How many pages were fetched again on the word of the sitemap that lies."""
        return sum(path in Dated.lies for path in self.dated.paths()) - len(Dated.lies)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with LocalWeb({}, address="127.0.0.3") as web:
        port = web.port
    with LocalWeb(Growing()) as growing, LocalWeb(Dated(), address="127.0.0.2") as dated:
        found = Watched(tmp_path_factory.mktemp("watched") / "job", growing, dated, port)
        found.run()
        yield found


class TestWatch:
    def test_news(self, watched: Watched) -> None:
        """A watching crawl stays when all is fetched, and fetches what is new in the sitemap, on conditions."""
        assert "/p3" in watched.growing.paths()
        assert any(hit.path == "/s.xml" and "If-None-Match" in hit.headers for hit in watched.growing.hits)

    @pytest.mark.deep
    def test_after_a_kill(self, watched: Watched) -> None:
        """What a killed crawl has left is sound."""
        checked = scrapy("check-crawl", str(watched.jobdir))
        assert checked.returncode == 0, checked.stdout + checked.stderr

    def test_pages_that_change(self, watched: Watched) -> None:
        """A page is fetched again when its sitemap says that it has changed since."""
        assert watched.dated.paths().count("/page") == 2

    def test_a_liar(self, watched: Watched) -> None:
        """A sitemap that calls everything changed, always, is not believed for long."""
        assert 0 < watched.believed() <= 20 + 1  # one more after the first that was as before: the second is too many

    def test_a_host_that_is_down(self, watched: Watched) -> None:
        """A host that was down at first is searched when it is back."""
        assert watched.back is not None
        assert {"/1", "/3"} < set(watched.back.paths())

    def test_robots_txt_again(self, watched: Watched) -> None:
        """What robots.txt forbids when it is visited again, for its sitemaps, counts."""
        assert watched.back is not None
        assert "/2" not in watched.back.paths()

    def test_max_pages(self, tmp_path: Path) -> None:
        """A crawl that may fetch no more has nothing to watch for."""
        with LocalWeb(Growing()) as web:
            words = ["-a", f"domains={web.root}", "-a", "watch=1", "-a", "max_pages=2"]
            crawl("sitemap", tmp_path / "job", *words, **FAST)
            assert len(web.paths()) == 2


@pytest.mark.deep
def test_a_kill_while_a_sitemap_is_read(tmp_path: Path) -> None:
    """What was read before a checkpoint is in it; the rest comes when it is read again, and nothing twice."""
    entries = 45_000
    site: dict[str, Page] = {"/": linked(), "/robots.txt": "Sitemap: /s.xml\nUser-agent: *\nDisallow: /p/"}
    site["/s.xml"] = Answer(urlset(*(f"/p/{n}" for n in range(entries))), headers=XML)
    job = tmp_path / "job"
    with LocalWeb(site) as web:
        read = watch(
            web.root, job, SETTINGS, lambda: [r for r in stored_so_far(job) if r.unfinished], "a part has been read"
        )
        assert [(r.visits, r.unfinished < entries) for r in read] == [(0, True)]
        known = states_of(job)
        listed = [url for url in known if "/p/" in url]
        assert (len(listed), known[f"{web.root}/s.xml"]) == (read[0].unfinished, UrlState.QUEUED)
        read = watch(
            web.root,
            job,
            SETTINGS,
            lambda: [r for r in stored_so_far(job) if r.url.endswith("/s.xml") and r.visits],
            "the sitemap has been read again, whole",
        )
        assert web.paths().count("/s.xml") == 2
        assert [(r.visits, r.new, r.entries, r.unfinished) for r in read] == [(1, entries, entries, 0)]
        assert sum("/p/" in url for url in states_of(job)) == entries


def stored_so_far(jobdir: Path) -> list[SitemapRecord]:
    """The records of a crawl that may not have begun."""
    try:
        return stored(jobdir) if (jobdir / "db" / "CURRENT").exists() else []
    except StorageError:
        return []


def test_arguments(tmp_path: Path) -> None:
    """A switch is 1 or 0."""
    done = scrapy(
        "crawl", "generic", "-a", "seeds=http://a.example", "-a", "watch=yes", settings={"JOBDIR": tmp_path}
    )
    assert (done.returncode, "watch is 1 or 0, and not 'yes'" in done.stderr) == (1, True)
    assert not list(tmp_path.iterdir())
