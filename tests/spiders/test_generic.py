"""`scrapy crawl generic` as a user runs it: seeds, scope, limits, order, redirects, errors, resuming."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from crawling import PROJECT, environment, scrapy, scrapy_command
from crawling import crawl as crawl_generic
from localweb import Answer, LocalWeb, Page, linked
from waiting import until

HTML = {"Content-Type": "text/html"}


def stored(jobdir: Path, kind: str = "page") -> Counter[str]:
    """URL → how often it is in the page store."""
    with closing(sqlite3.connect(jobdir / "pages.sqlite")) as index:
        return Counter(url for (url,) in index.execute("SELECT url FROM pages WHERE kind = ?", (kind,)))


def paths(urls: Counter[str]) -> Counter[str]:
    return Counter({urlsplit(url)._replace(scheme="", netloc="").geturl(): n for url, n in urls.items()})


def redirect(location: str, status: int = 302) -> Answer:
    return Answer(b"moved", status, {"Location": location, **HTML})


class OneSite(LocalWeb):
    """A site with everything that happens on sites; `other` is out of its scope."""

    def __init__(self, other: LocalWeb) -> None:
        super().__init__(self.page)
        self.busy = 2
        """How often /busy still says that it is busy."""
        self.answers: dict[str, Page] = {
            "/": linked("/a", "/a#part", "/a?utm_source=mail", "/broken", "/busy", "/to-a", "/out", "/loop", "/new"),
            "/a": linked("/", "/a", "/b?x=1&y=2", "/b?y=2&x=1"),
            "/b?x=1&y=2": linked(),
            "/broken": Answer(linked("/only-from-an-error").encode(), 500, HTML),
            "/to-a": redirect("/a"),
            "/new": redirect("/moved"),
            "/moved": linked("/from-moved"),
            "/from-moved": linked(),
            "/out": redirect(f"{other.root}/"),
            "/loop": redirect("/loop2"),
            "/loop2": redirect("/loop"),
            "/robots.txt": "",
        }

    def page(self, path: str, host: str) -> Page | None:
        if path != "/busy":
            return self.answers.get(path)
        self.busy -= 1
        return "at last" if self.busy < 0 else Answer(b"later", 503, {"Retry-After": "1", **HTML})


@pytest.fixture(scope="module")
def site() -> Iterator[OneSite]:
    with LocalWeb({}) as other, OneSite(other) as web:
        yield web
        assert other.hits == []


@pytest.fixture(scope="module")
def site_job(site: OneSite, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site") / "job"
    done = crawl_generic(site.root, directory, RETRY_TIMES=2, SITECRAWL_FAILURE_DELAY=0.1)
    assert done.returncode == 0, done.stderr
    assert not re.search("WARNING|ERROR|Traceback", done.stderr), done.stderr
    return directory


class TestOneSite:
    """One crawl of a whole site, and the same crawl again."""

    def test_every_page_is_stored_once(self, site_job: Path) -> None:
        """Spellings of one URL are one page, and a retried page is stored when it came."""
        assert paths(stored(site_job)) == dict.fromkeys(
            ["/", "/a", "/b?x=1&y=2", "/busy", "/moved", "/from-moved"], 1
        )

    def test_every_url_is_asked_for_once(self, site: OneSite, site_job: Path) -> None:
        """But for those that failed, which are asked for RETRY_TIMES more."""
        asked = Counter(site.paths())
        assert asked.pop("/busy") == 3
        assert asked.pop("/broken") == 3
        assert set(asked.values()) == {1}

    def test_an_error_page_is_stored_and_its_links_are_not_followed(self, site: OneSite, site_job: Path) -> None:
        """It is an error each time that it came; where it links to is nobody's word."""
        assert paths(stored(site_job, "error"))["/broken"] == 3
        assert "/only-from-an-error" not in site.paths()

    def test_retry_after_is_waited_for(self, site: OneSite, site_job: Path) -> None:
        """After a 503 that asks for a second the host is left alone for a second."""
        times = [hit.begun for hit in site.hits if hit.path == "/busy"]
        hits = sorted(hit.begun for hit in site.hits)
        for busy in times[:2]:
            assert min(hit for hit in hits if hit > busy) - busy >= 1

    def test_redirects_are_stored_and_followed_within_the_scope(self, site_job: Path) -> None:
        """The hop itself is a capture of its own; the one that leads out of scope ends there."""
        assert paths(stored(site_job, "redirect")) == dict.fromkeys(["/to-a", "/new", "/out", "/loop", "/loop2"], 1)

    def test_again_nothing_is_fetched(self, site: OneSite, site_job: Path) -> None:
        """A finished crawl asks nobody, and says so with exit code 0."""
        before = len(site.hits)
        assert crawl_generic(site.root, site_job).returncode == 0
        assert site.paths()[before:] == []


@pytest.fixture(scope="module")
def letters() -> Iterator[LocalWeb]:
    with LocalWeb({f"/{name}": name for name in "abc"}) as web:
        yield web


class TestSeeds:
    """What `-a seeds=` takes."""

    @pytest.mark.parametrize(
        "seeds",
        ["{root}/a,{root}/b, {root}/c", "{bare}/a {bare}/b {bare}/c", "@{folder}/seeds.txt", "{folder}/sitemap.xml"],
        ids=["urls", "bare", "file", "sitemap"],
    )
    def test_forms(self, letters: LocalWeb, tmp_path: Path, seeds: str) -> None:
        """URLs, bare hosts, a file of URLs and a sitemap all name the same three pages."""
        urls = [f"{letters.root}/{name}" for name in "abc"]
        (tmp_path / "seeds.txt").write_text("# a list\n" + "\n".join(urls))
        entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
        (tmp_path / "sitemap.xml").write_text(f"<urlset>{entries}</urlset>")
        text = seeds.format(root=letters.root, bare=letters.root.removeprefix("http://"), folder=tmp_path)
        assert crawl_generic(text, tmp_path / "job", ROBOTSTXT_OBEY=False).returncode == 0
        assert stored(tmp_path / "job") == dict.fromkeys(urls, 1)


def proxied(page: Callable[[str], Page | None]) -> LocalWeb:
    """A proxy that is the whole web: `page` gets URLs without their scheme."""
    return LocalWeb(lambda path, host: page(path.removeprefix("http://")))


def crawl(web: LocalWeb, seeds: str, jobdir: Path, **arguments: object) -> str:
    """A crawl through the proxy `web`; returns the log."""
    settings = {"SITECRAWL_DELAY_FACTOR": 0, "ROBOTSTXT_OBEY": False, "JOBDIR": jobdir}
    settings |= {name: value for name, value in arguments.items() if name.isupper()}
    words = [part for name, value in arguments.items() if not name.isupper() for part in ("-a", f"{name}={value}")]
    env = {"http_proxy": web.root}
    done = scrapy("crawl", "generic", "-a", f"seeds={seeds}", *words, settings=settings, env=env)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def asked(web: LocalWeb) -> list[str]:
    """URLs without scheme, in the order in which the proxy was asked for them."""
    return [path.removeprefix("http://") for path in web.paths()]


PAGES = ("www.a.org/docs/1", "www.a.org/docs/deep/2", "www.a.org/other", "b.a.org/", "c.org/")


@pytest.fixture(scope="module")
def three_hosts() -> Iterator[LocalWeb]:
    with proxied(lambda url: linked(*(f"http://{page}" for page in PAGES))) as web:
        yield web


class TestScope:
    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ({"scope": "host"}, PAGES[:3]),
            ({"scope": "site"}, PAGES[:4]),
            ({"scope": "prefix"}, PAGES[:2]),
            ({"scope": "any"}, PAGES),
            ({"allow": "/docs/"}, PAGES[:2]),
            ({"deny": r"/docs/deep|b\.a"}, (PAGES[0], PAGES[2])),
        ],
        ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
    )
    def test_what_is_followed(
        self, three_hosts: LocalWeb, tmp_path: Path, arguments: dict[str, object], expected: tuple[str, ...]
    ) -> None:
        """Links out of scope are not even asked for."""
        three_hosts.hits.clear()
        crawl(three_hosts, f"http://{PAGES[0]}", tmp_path / "job", **arguments)
        assert sorted(asked(three_hosts)) == sorted(expected)

    @pytest.mark.deep
    def test_a_seed_that_moved_is_the_new_scope(self, tmp_path: Path) -> None:
        """Where a seed's redirect leads is in scope from there on, over two hops, and in a run that resumes."""
        answers: dict[str, Page] = {
            "old.example/": redirect("http://middle.example/"),
            "middle.example/": redirect("https-like.example/", 301),
            "middle.example/https-like.example/": redirect("http://www.new.example/start"),
            "www.new.example/start": linked("/page", "http://elsewhere.example/", "http://old.example/x"),
            "www.new.example/page": linked("/last"),
        }
        with proxied(lambda url: answers.get(url, "page")) as web:
            crawl(web, "old.example", tmp_path / "job", max_pages=4)
            assert "www.new.example/page" not in asked(web)
            crawl(web, "old.example", tmp_path / "job")
            assert set(asked(web)) == {*answers, "www.new.example/last", "old.example/x"}
        assert paths(stored(tmp_path / "job")) == {"/start": 1, "/page": 1, "/last": 1, "/x": 1}


def tree(url: str) -> Page:
    """Three hosts whose pages form a binary tree each, with links across, and a shortcut that is found late."""
    host, _, path = url.partition("/")
    number = int(path or 0)
    others = [f"http://h{(int(host[1]) + 1) % 3}.example/{number * 2 + 1}"]
    return linked(f"/{number * 2 + 1}", f"/{number * 2 + 2}", *others)


class TestLimits:
    def test_max_pages_is_exact_and_can_grow(self, tmp_path: Path) -> None:
        """Never more pages than allowed are asked for; the same directory with a greater number goes on."""
        with proxied(tree) as web:
            for limit in (7, 7, 20):
                crawl(web, "h0.example h1.example h2.example", tmp_path / "job", max_pages=limit, scope="any")
                assert len(asked(web)) == limit
                assert stored(tmp_path / "job").total() == limit
        assert set(stored(tmp_path / "job").values()) == {1}

    @pytest.mark.parametrize("depth", [1, 3])
    def test_max_depth_is_exact(self, tmp_path: Path, depth: int) -> None:
        """All pages within so many links of a seed, by the shortest way, and no other."""
        slow = {"h1.example/": 0.2, "h1.example/1": 0.2}

        def late(url: str) -> Page:
            # The short way to h0's far page leads over a slow host: it is found after the long one.
            if url == "h1.example/":
                return linked("/1", "http://h0.example/far")
            if url.startswith("h0.example/far"):
                return linked(url.replace("h0.example", "") + "r")
            step = int(url.partition("/")[2] or 0)
            return linked(f"/{step + 1}", *(["/far"] if step == 2 else []))

        class Slow(LocalWeb):
            def answer(self, path: str, host: str) -> Answer:
                threading.Event().wait(slow.get(path.removeprefix("http://"), 0))
                return super().answer(path, host)

        with Slow(lambda path, host: late(path.removeprefix("http://"))) as web:
            crawl(web, "h0.example h1.example", tmp_path / "job", max_depth=depth, scope="any")
            expected = {f"{host}.example/{step or ''}" for host in ("h0", "h1") for step in range(depth + 1)}
            expected |= {f"h0.example/far{'r' * (step - 1)}" for step in range(1, depth + 1)}
            assert sorted(asked(web)) == sorted(expected)


class TestDirectory:
    def test_without_jobdir_a_directory_is_made(self, tmp_path: Path) -> None:
        """`crawls/<spider>-<time>/` below the working directory, with a feed beside it that a person can read."""
        with LocalWeb({"/": "<meta charset=utf-8><title>Grüße</title>"}) as web:
            words = ("crawl", "generic", "-a", f"seeds={web.root}", "-O", "pages.jsonl")
            done = scrapy(
                *words, cwd=tmp_path, env={"SCRAPY_SETTINGS_MODULE": "sitecrawl.settings", "PYTHONPATH": str(PROJECT)}
            )
        assert done.returncode == 0, done.stderr
        [directory] = (tmp_path / "crawls").iterdir()
        assert re.fullmatch(r"generic-\d{8}-\d{6}", directory.name)
        [line] = (tmp_path / "pages.jsonl").read_text().splitlines()
        page = json.loads(line)
        assert "Grüße" in line
        assert (page["url"], page["status"], page["depth"]) == (f"{web.root}/", 200, 0)
        assert "body" not in page


def test_redirects_to_new_pages_are_worth_following(tmp_path: Path) -> None:
    """A site may link to its pages by redirects alone, as `/node/17` of Drupal: they are not held back."""
    pages = {f"/{number}/text": f"text {number}" for number in range(60)}
    nodes = {f"/node/{number}": redirect(page) for number, page in enumerate(pages)}
    with LocalWeb({"/": linked(*nodes, "/gone/1"), "/gone/1": redirect("/"), **nodes, **pages}) as web:
        assert crawl_generic(web.root, tmp_path / "job").returncode == 0
    words = ("--host", web.root[7:], "--format", "jsonl", "-d", str(tmp_path / "job"))
    rows = [json.loads(line) for line in scrapy("frontier", *words).stdout.splitlines()]
    good = {row["shape"]: row["good"] for row in rows if row["shape"]}
    assert good == {"/": 1, "/gone/*": 0, "/node/*": 60, "/#/*": 60}


def test_a_redirect_with_a_user_name_leads_to_the_page_without(tmp_path: Path) -> None:
    """As a link does: no password is sent, or stored as a URL."""

    def page(path: str, host: str) -> Page | None:
        pages: dict[str, Page] = {"/": redirect(f"http://joe:secret@{host}/a@b"), "/a@b": "page"}
        return pages.get(path)

    with LocalWeb(page) as web:
        assert crawl_generic(web.root, tmp_path / "job").returncode == 0
        assert web.paths() == ["/", "/a@b"]
    assert stored(tmp_path / "job") == {f"{web.root}/a@b": 1}


def test_a_cached_page_is_stored_like_any_other(tmp_path: Path) -> None:
    """With Scrapy's HTTP cache a second crawl asks for nothing, and its page store is as full."""
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": tmp_path / "cache", "ROBOTSTXT_OBEY": False}
    with LocalWeb({"/": linked("/a", "/moved"), "/a": "a", "/moved": redirect("/b"), "/b": "b"}) as web:
        for job in ("first", "second"):
            assert crawl_generic(web.root, tmp_path / job, **cache).returncode == 0
            assert paths(stored(tmp_path / job)) == {"/": 1, "/a": 1, "/b": 1}
            assert paths(stored(tmp_path / job, "redirect")) == {"/moved": 1}
        assert len(web.hits) == 4


def test_a_retry_does_not_take_its_redirect_past_the_filter(tmp_path: Path) -> None:
    """A URL that failed once and then leads to a known page brings that page no second time."""
    busy = [Answer(b"later", 503, HTML)]

    def page(path: str, host: str) -> Page | None:
        if path == "/late":
            return busy.pop() if busy else redirect("/a")
        return {"/": linked("/a", "/late"), "/a": "a"}.get(path)

    with LocalWeb(page) as web:
        settings = {"ROBOTSTXT_OBEY": False, "SITECRAWL_FAILURE_DELAY": 0.01}
        assert crawl_generic(web.root, tmp_path / "job", **settings).returncode == 0
        assert Counter(web.paths()) == {"/": 1, "/a": 1, "/late": 2}


@pytest.mark.deep
def test_a_killed_crawl_stores_every_page_once(tmp_path: Path) -> None:
    """Killed twice at whatever it was doing, and resumed: no page is missing, none is there twice."""
    names = [f"/{number}" for number in range(150)]
    settings = {"SITECRAWL_DELAY_FACTOR": 0, "DOWNLOAD_DELAY": 0.01, "JOBDIR": tmp_path / "job"}
    with LocalWeb({"/": linked(*names), **{name: linked("/", title=name) for name in names}}) as web:
        command = scrapy_command("crawl", "generic", "-a", f"seeds={web.root}", settings=settings)
        for hits in (40, 90):
            with subprocess.Popen(command, cwd=PROJECT, env=environment(), stderr=subprocess.DEVNULL) as process:
                until(lambda hits=hits: len(web.hits) >= hits, f"{hits} requests")  # type: ignore[misc]
                assert process.poll() is None
                process.kill()
        assert crawl_generic(web.root, tmp_path / "job").returncode == 0
    assert paths(stored(tmp_path / "job")) == dict.fromkeys(["/", *names], 1)


def test_a_host_on_ipv6(tmp_path: Path) -> None:
    """An address of IPv6 is a host like another: a seed, robots.txt, and links in any spelling."""
    pages = {"/": linked("/a", "http://[0:0:0:0:0:0:0:1]/elsewhere"), "/a": "page"}
    with LocalWeb(pages, address="::1") as web:
        done = crawl_generic(f"{web.root}/", tmp_path / "job", scope="host")
        assert done.returncode == 0, done.stderr
        assert web.paths(robots=True) == ["/robots.txt", "/", "/a"]


def test_a_pattern_without_end_has_one(tmp_path: Path) -> None:
    """What it cannot decide in time is not followed, and it is named once."""
    evil = [f"/{'a' * 60}!{number}" for number in range(3)]
    with LocalWeb({"/": linked("/good", *evil, "/later"), "/good": "good", "/later": linked("/good")}) as web:
        told = {"STATS_DUMP": True, "LOG_LEVEL": "INFO", "LIMITS": {"REGEX_TIME": 0.1}}
        done = crawl_generic(web.root, tmp_path / "job", deny="(?:a|aa)+$", **told)
        asked = set(web.paths())
    assert done.returncode == 0, done.stderr
    assert "/good" in asked
    assert not asked & set(evil)
    assert "'limits/regex_time': " in done.stderr
    assert done.stderr.count("The regular expression (?:a|aa)+$ takes longer") == 1
