"""A finished crawl is gone through once more, on a site that has changed."""

from __future__ import annotations

import json
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event

import forks
import pytest
from crawling import crawl, environment, scrapy, states_of, with_settings
from localweb import Answer, LocalWeb, Page, linked
from waiting import PATIENCE, until

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.rounds import Round, read_rounds
from sitecrawl.plugins.recrawl.schedule import DAY, RecrawlOptions, Visits
from sitecrawl.plugins.recrawl.store import _FAMILY, RevisitStore

HTML = {"Content-Type": "text/html"}


def page(text: str, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(f"<title>{text}</title><p>{text}".encode(), headers=HTML | named)


def first_night() -> dict[str, Page]:
    names = ("etag", "dated", "token", "edited", "falls", "goes", "moves", "led", "none")
    return {
        "/": linked(*(f"/{name}" for name in names)),
        "/etag": page("etag", ETag='"1"'),
        "/dated": page("dated", Last_Modified="Mon, 23 Nov 2026 10:00:00 GMT"),
        "/token": "<p>token</p><!-- 1 -->",
        "/edited": page("as it was", ETag='"1"'),
        "/falls": page("falls"),
        "/goes": page("goes", ETag='"1"'),
        "/moves": page("moves"),
        "/led": Answer(status=302, headers={"Location": "/etag"}),
    }


def second_night() -> dict[str, Page]:
    return first_night() | {
        "/": linked("/etag", "/new"),
        "/new": page("new"),
        "/token": "<p>token</p><!-- 2 -->",
        "/edited": page("as it is", ETag='"2"'),
        "/falls": Answer(status=503),
        "/goes": Answer(status=410),
        "/moves": Answer(status=301, headers={"Location": "/moved"}),
        "/moved": page("moves"),
    }


def rounds_of(job: Path) -> list[Round]:
    with closing(Database(job / "db", hash_name=HASH_NAME, read_only=True)) as database:
        return read_rounds(database)


@pytest.fixture(scope="module")
def two_nights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LocalWeb, Path, str]]:
    """A crawl, and a round over it: the web with the requests of the round, the crawl, the last words."""
    job = tmp_path_factory.mktemp("again") / "job"
    with LocalWeb(first_night(), conditional=True) as web:
        assert crawl(web.root, job, RETRY_ENABLED=False).returncode == 0
        web.pages = second_night()
        web.hits.clear()
        done = crawl(web.root, job, RETRY_ENABLED=False, again=1)
        assert done.returncode == 0, done.stderr
        yield web, job, done.stderr


def test_what_it_finds(two_nights: tuple[LocalWeb, Path, str]) -> None:
    """New, changed, gone and moved pages are counted, and told at the end. What no reader sees is no change."""
    _, job, said = two_nights
    (found,) = rounds_of(job)
    counts = {"new": 2, "changed": 2, "gone": 1, "moved": 1, "failed": 1, "unchanged": 5}
    assert {name: getattr(found, name) for name in counts} == counts
    assert found.asked == 10
    assert "2 new, 2 changed, 1 gone, 1 moved of 10 known URLs; 1 without a usable answer" in said
    assert not found.is_open


def test_each_is_asked_for_once(two_nights: tuple[LocalWeb, Path, str]) -> None:
    """All that was known, and what is new."""
    web, job, _ = two_nights
    assert Counter(web.paths()) == Counter([*first_night(), "/none", "/new", "/moved"])
    assert set(states_of(job).values()) == {UrlState.FETCHED}


def test_conditions(two_nights: tuple[LocalWeb, Path, str]) -> None:
    """What came with an ETag or a date is asked for on condition that it has changed, and nothing else; where a
    redirect leads, the conditions of its URL do not go.
    """
    web, job, _ = two_nights
    asked = {hit.path: (hit.headers.get("If-None-Match"), hit.headers.get("If-Modified-Since")) for hit in web.hits}
    assert asked["/etag"] == ('"1"', None)
    assert asked["/dated"] == (None, "Mon, 23 Nov 2026 10:00:00 GMT")
    assert {asked[path] for path in ("/", "/token", "/new", "/moved", "/led")} == {(None, None)}
    with PageReader(job) as reader:
        (last,) = reader.find(f"{web.root}/etag")
        assert (last.kind, reader.read(last).body) == ("page", first_night()["/etag"].body)  # type: ignore[union-attr]


def test_it_is_sound(two_nights: tuple[LocalWeb, Path, str]) -> None:
    """Frontier, index and files agree."""
    checked = scrapy("check-crawl", str(two_nights[1]))
    assert checked.returncode == 0, checked.stdout


def listed(job: Path, *options: str) -> str:
    done = scrapy("changes", "-d", str(job), *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_changes(two_nights: tuple[LocalWeb, Path, str]) -> None:
    """`scrapy changes` lists what the round has counted, and with `--diff` what was said before."""
    web, job, _ = two_nights
    rows = [json.loads(line) for line in listed(job, "--format", "jsonl", "--diff", "--round", "1").splitlines()]
    found = {row["url"].removeprefix(web.root): row["change"] for row in rows}
    assert found == {
        "/": "changed", "/edited": "changed", "/new": "new", "/moved": "new", "/goes": "gone", "/moves": "moved",
    }  # fmt: skip
    by_path = {row["url"].removeprefix(web.root): row for row in rows}
    assert by_path["/moves"]["to"] == f"{web.root}/moved"
    assert "-as it was\n+as it is" in by_path["/edited"]["diff"]
    assert set(listed(job, "--round", "1", "--format", "urls").split()) == {f"{web.root}{path}" for path in found}
    assert listed(job, "--since", "2026-01-01", "--format", "urls")
    assert "2 new, 2 changed, 1 gone, 1 moved" in listed(job, "--rounds")
    assert scrapy("changes", "-d", str(job), "--round", "7").returncode == 1
    assert scrapy("changes", "-d", str(job), "--round", "1", "--rounds").returncode == 2


def test_the_report(two_nights: tuple[LocalWeb, Path, str], tmp_path: Path) -> None:
    """It has what the rounds have found."""
    done = scrapy("report", str(two_nights[1]), "-o", str(tmp_path / "report.html"))
    assert done.returncode == 0, done.stderr
    rounds = re.search('<section id="rounds">(.*?)</section>', (tmp_path / "report.html").read_text(), re.DOTALL)
    assert rounds is not None
    first = [row for row in re.findall("<tr>(.*?)</tr>", rounds[1], re.DOTALL) if '<th scope="row">1</th>' in row]
    assert re.findall(r"<td>(\d+)</td>", first[0]) == ["10", "2", "2", "1", "1", "1"]


def test_exports_go_on(tmp_path: Path) -> None:
    """`export --since last` has what has become of pages since the last one, and nothing of those that stay."""
    job, file = tmp_path / "job", tmp_path / "new.jsonl"

    def exported() -> dict[str, str]:
        done = scrapy("export", "-d", str(job), "--since", "last", "-o", str(file))
        assert done.returncode == 0, done.stderr
        rows = map(json.loads, file.read_text().splitlines())
        return {row["url"].removeprefix(web.root): row["change"] for row in rows}

    with LocalWeb({"/": linked("/a", "/b", "/c"), "/a": page("a"), "/b": page("b"), "/c": page("c")}) as web:
        crawl(web.root, job)
        assert exported() == dict.fromkeys(("/", "/a", "/b", "/c"), "new")
        web.pages = {"/": linked("/a", "/b", "/c", "/d"), "/a": page("a"), "/b": page("other"), "/d": page("d")}
        crawl(web.root, job, again=1)
        assert exported() == {"/": "changed", "/b": "changed", "/c": "gone", "/d": "new"}
        assert exported() == {}


def a_day_apart(job: Path) -> None:
    """Date the visits as if the two nights and the coming one were a day apart, and not the seconds of a test."""
    with closing(Database(job / "db", hash_name=HASH_NAME)) as database:
        store, yesterday = RevisitStore(database, RecrawlOptions()), time.time() - DAY
        for row, data in list(database.scan(_FAMILY, b"P", b"Q")):
            seen = Visits.unpack(data)
            store.keep(row[1:], replace(seen, visited=yesterday, watched=DAY if seen.watched else 0.0))
        batch = database.batch()
        store.prepare(batch)
        database.write(batch)


def test_what_changed_before_goes_first(two_nights: tuple[LocalWeb, Path, str]) -> None:
    """In the next round what has never been fetched goes first, then what has changed in the last one."""
    web, job, _ = two_nights
    a_day_apart(job)
    web.pages = second_night() | {"/edited": page("as it is now", ETag='"3"')}
    web.hits.clear()
    done = crawl(f"{web.root},{web.root}/late", job, RETRY_ENABLED=False, again=1, CONCURRENT_REQUESTS_PER_DOMAIN=1)
    assert done.returncode == 0, done.stderr
    assert web.paths()[0] == "/late"
    paths = [path for path in web.paths() if path not in {"/late", "/goes", "/none", "/moves", "/new", "/moved"}]
    assert set(paths[:2]) == {"/", "/edited"}
    first, second = rounds_of(job)
    assert (first.number, second.number, second.changed, second.gone) == (1, 2, 1, 0)
    assert second.asked == 12


def test_without_a_crawl(tmp_path: Path) -> None:
    """Where nothing is known it is an ordinary crawl, so that the same command is for every night."""
    with LocalWeb({"/": linked("/a"), "/a": page("a")}) as web:
        done = crawl(web.root, tmp_path / "job", again=1)
        assert done.returncode == 0, done.stderr
        assert web.paths() == ["/", "/a"]
    assert not rounds_of(tmp_path / "job")


def test_choices(tmp_path: Path) -> None:
    """A page of choices (300) has changed, in the count as in the list; it leads nowhere by itself."""
    job = tmp_path / "job"
    with LocalWeb({"/": linked("/a"), "/a": page("a")}) as web:
        crawl(web.root, job)
        web.pages = {"/": linked("/a"), "/a": Answer(b"<p>which of two", 300, HTML)}
        crawl(web.root, job, again=1)
    (found,) = rounds_of(job)
    assert (found.changed, found.moved) == (1, 0)
    assert scrapy("changes", "-d", str(job)).stdout.count("changed ") == 1


def test_update(tmp_path: Path) -> None:
    """`scrapy update` needs the directory alone: spider and arguments are those of the last run."""
    job = tmp_path / "job"
    with LocalWeb({"/": linked("/a", "/b"), "/a": page("a"), "/b": page("b")}) as web:
        crawl(web.root, job, deny="/b", scope="host")
        web.pages = {"/": linked("/a", "/b", "/c"), "/a": page("a"), "/b": page("b"), "/c": page("c")}
        web.hits.clear()
        settings = {"SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_WEBHOOKS": f"{web.root}/hook"}
        done = scrapy("update", str(job), settings=settings)
        assert done.returncode == 0, done.stderr
        told = [json.loads(hit.body) for hit in web.hits if hit.path == "/hook"]
        assert Counter(path for path in web.paths() if path != "/hook") == Counter(["/", "/a", "/c"])
        assert "1 new, 1 changed of 2 known URLs" in done.stderr
        counts = {"asked": 2, "new": 1, "changed": 1, "unchanged": 1, "gone": 0, "moved": 0, "failed": 0}
        assert told[-1]["round"].keys() - counts.keys() == {"number", "began", "ended"}
        assert told[-1]["round"].items() >= {"number": 1, **counts}.items()
        assert told[-1]["text"].endswith("(1 new, 1 changed of 2 known URLs).")
        assert scrapy("changes", "-d", str(job), "--round", "1", "--format", "urls").stdout.count("/c") == 1
        scrapy("update", str(job), settings=settings)
        assert "no page is new, changed, gone or moved" in scrapy("changes", "-d", str(job)).stderr
    refused = scrapy("update", str(job), "-a", "again=0")
    assert (refused.returncode, "it takes no -a again=0" in refused.stderr) == (2, True)
    missing = scrapy("update", str(tmp_path / "none"))
    assert (missing.returncode, "holds no crawl" in missing.stderr) == (1, True)


def test_update_of_a_crawl_without_an_end(tmp_path: Path) -> None:
    """A round ends, though the last run was to go on: what it was told of that is left out."""
    job = tmp_path / "job"
    with LocalWeb({"/": linked("/a"), "/a": page("a")}) as web:
        assert crawl(web.root, job, recrawl=1, watch=1, CLOSESPIDER_PAGECOUNT=1).returncode == 0
        done = scrapy("update", str(job), settings={"SITECRAWL_DELAY_FACTOR": 0})
    assert done.returncode == 0, done.stderr
    assert len(rounds_of(job)) == 1


PLAIN = """
from scrapy import Spider

class Plain(Spider):
    name = "plain"
"""


def test_update_of_a_plain_spider(tmp_path: Path) -> None:
    """A spider without rounds would do nothing: it is refused, or warned of."""
    (tmp_path / "plain_spider.py").write_text(PLAIN)
    settings, env = {"SPIDER_MODULES": "plain_spider", "JOBDIR": tmp_path / "job"}, {"PYTHONPATH": str(tmp_path)}
    scrapy("crawl", "plain", settings=settings, env=env)
    refused = scrapy("update", str(tmp_path / "job"), settings=settings, env=env)
    assert (refused.returncode, "'plain' is no SiteSpider" in refused.stderr) == (1, True)
    # of `scrapy crawl` the argument may be the spider's own, so that it is only said
    words, under = ("crawl", "plain", "-a"), {**settings, "ADDONS": json.dumps({"sitecrawl.addon.Addon": 500})}
    said, off = (scrapy(*words, f"again={given}", settings=under, env=env) for given in "10")
    assert "again=1 is passed over: the spider 'plain' is no SiteSpider" in said.stderr
    assert "passed over" not in off.stderr


def test_only_what_is_older(tmp_path: Path) -> None:
    """With a time, what was fetched since then is left as it is."""
    with LocalWeb({"/": linked("/a"), "/a": page("a")}) as web:
        crawl(web.root, tmp_path / "job")
        web.hits.clear()
        done = crawl(web.root, tmp_path / "job", again="1d")
        assert done.returncode == 0, done.stderr
        assert web.paths() == []
        assert "round 1   nothing new: no known URL was asked for\n" in done.stderr
        assert "The crawl finished: nothing is left to fetch.\n" in done.stderr


def test_a_plain_second_start(tmp_path: Path) -> None:
    """One line says that nothing is left, and names the command that finds what is new."""
    with LocalWeb({"/": linked()}) as web:
        crawl(web.root, tmp_path / "job")
        web.hits.clear()
        done = crawl(web.root, tmp_path / "job")
        assert web.paths() == []
    said = [
        line for line in done.stderr.splitlines() if line.startswith("The crawl finished: nothing is left to fetch.")
    ]
    assert len(said) == 1
    assert said[0].endswith("-a again=1")


def test_a_night_without_the_site(tmp_path: Path) -> None:
    """A site that answers 503 has lost nothing: its pages have no answer, and are as they were the night after."""
    site: dict[str, Page] = {"/": linked("/a", "/b", "/c"), **{f"/{name}": page(name) for name in "abc"}}
    with LocalWeb(site) as web:
        crawl(web.root, tmp_path / "job")
        web.pages = lambda *_: Answer(status=503)
        down = crawl(web.root, tmp_path / "job", again=1, SITECRAWL_MAX_HOST_FAILURES=1)
        web.pages = {**site, "/a": page("another")}
        up = crawl(web.root, tmp_path / "job", again=1)
    assert "round 1   nothing new of 4 known URLs; 4 without a usable answer\n" in down.stderr
    assert "round 2   1 changed of 4 known URLs\n" in up.stderr


def test_what_robots_txt_forbids_for_a_night(tmp_path: Path) -> None:
    """It is not asked for and counts as it was, and the round after visits it as any other, once."""
    site: dict[str, Page] = {"/": linked("/one", "/two", "/never"), "/one": page("one"), "/two": page("two")}
    nights = [
        (["/never"], {"/": 1, "/one": 1, "/two": 1}, None),
        (["/"], {}, (0, 0, 0)),
        (["/two"], {"/": 1, "/one": 1, "/never": 1}, (3, 1, 0)),
        ([], {"/": 1, "/one": 1, "/two": 1, "/never": 1}, (4, 0, 0)),
    ]
    site["/never"] = page("never")
    with LocalWeb({}) as web:
        for forbidden, asked, found in nights:
            rules = "".join(f"Disallow: {path}\n" for path in forbidden)
            robots = Answer(f"User-agent: *\n{rules}".encode(), headers={"Content-Type": "text/plain"})
            web.pages = {**site, "/robots.txt": robots}
            web.hits.clear()
            done = crawl(web.root, tmp_path / "job", again=1, ROBOTSTXT_OBEY=True)
            assert done.returncode == 0, done.stderr
            assert Counter(web.paths()) == asked
            if found is not None:
                last = rounds_of(tmp_path / "job")[-1]
                assert (last.asked, last.new, last.failed) == found
    checked = scrapy("check-crawl", str(tmp_path / "job"))
    assert checked.returncode == 0, checked.stdout


def test_a_front_page_counts(tmp_path: Path) -> None:
    """It is asked for with the sitemaps, and is a page like any other in the figures, once in each round."""
    site: dict[str, Page] = {"/": "<p>as it was", "/one": page("one")}
    site["/sitemap.xml"] = Answer(
        b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>', headers={"Content-Type": "text/xml"}
    )
    nights: list[tuple[Page, tuple[int, ...]]] = [
        ('<p>as it was<a href="/one">one</a>', (0, 0, 0, 0)),
        ('<p>as it is<a href="/one">one</a>', (2, 1, 0, 0)),
        ('<p>as it is<a href="/one">one</a>', (2, 0, 0, 0)),
        (Answer(status=302, headers={"Location": "/one"}), (2, 0, 1, 0)),
    ]
    with LocalWeb({}) as web:
        for front, found in nights:
            web.pages = {**site, "/": front}
            done = crawl(web.root, tmp_path / "job", again=1, sitemaps=1)
            assert done.returncode == 0, done.stderr
            last = (rounds_of(tmp_path / "job") or [Round(0, 0.0)])[-1]
            assert (last.asked, last.changed, last.moved, last.failed) == found


def test_sitemaps_go_first(tmp_path: Path) -> None:
    """A story that no page links to is found by its sitemap, which is asked for before any page that is known."""

    def site(*stories: str) -> dict[str, Page]:
        urls = "".join(f"<url><loc>{{root}}{path}</loc></url>" for path in stories)
        xml = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'.replace(
            "{root}", web.root
        )
        sitemap = Answer(xml.encode(), headers={"Content-Type": "text/xml"})
        return {
            "/": linked("/about"),
            "/about": page("a"),
            "/map.xml": sitemap,
            **{one: page(one) for one in stories},
        }

    with LocalWeb({}) as web:
        web.pages = site("/one")
        given = {"sitemaps": f"{web.root}/map.xml", "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
        crawl(web.root, tmp_path / "job", **given)
        web.pages = site("/one", "/two")
        web.hits.clear()
        done = crawl(web.root, tmp_path / "job", again=1, CONCURRENT_REQUESTS_PER_DOMAIN=1)  # it knows the sitemap
        assert done.returncode == 0, done.stderr
        assert web.paths()[0] == "/map.xml"  # a page may be begun while it is read
        assert Counter(web.paths()) == Counter(["/map.xml", "/two", "/", "/about", "/one"])


def test_a_kill_in_the_middle(tmp_path: Path) -> None:
    """The next start goes on with the round, also without `again`: each URL counts once, and none is left out."""
    pages = 60
    site: dict[str, Page] = {"/": linked(*(f"/{n}" for n in range(pages)))}
    site |= {f"/{n}": page(f"page {n}", ETag='"1"') for n in range(pages)}
    job, log, is_killed = tmp_path / "job", tmp_path / "log", Event()
    with LocalWeb(site, conditional=True) as web:
        crawl(web.root, job)
        changed = site | {"/7": page("other", ETag='"2"'), "/8": Answer(status=404)}

        def answer(path: str, host: str) -> Page | None:
            if len(web.hits) > pages // 3:
                is_killed.wait(PATIENCE)
            return changed.get(path)

        web.pages = answer
        web.hits.clear()
        settings = {"SITECRAWL_DELAY_FACTOR": 0, "JOBDIR": job}
        words = with_settings("crawl", "generic", "-a", f"seeds={web.root}", "-a", "again=1", settings=settings)
        process = forks.start(words, environment(), log)
        until(lambda: len(web.hits) > pages // 3 or process.poll() is not None, "a third of the round")
        process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        is_killed.set()
        before = set(web.paths())
        done = crawl(web.root, job)
        assert done.returncode == 0, done.stderr
        assert set(web.paths()) == set(site)
    assert before < set(site)
    (found,) = rounds_of(job)
    assert (found.asked, found.changed, found.gone, found.unchanged) == (pages + 1, 1, 1, pages - 1)
    assert not found.is_open


def test_an_unfinished_crawl(tmp_path: Path) -> None:
    """Where much has never been fetched, what is known goes first: a limit of pages is that of the crawl."""
    with LocalWeb({"/": linked(*(f"/{n}" for n in range(20)))} | {f"/{n}": page(f"{n}") for n in range(20)}) as web:
        crawl(web.root, tmp_path / "job", max_pages=5)
        known = set(web.paths())
        web.hits.clear()
        done = crawl(web.root, tmp_path / "job", max_pages=5, again=1)
        assert done.returncode == 0, done.stderr
        assert set(web.paths()) == known
    (found,) = rounds_of(tmp_path / "job")
    assert (found.is_first, found.asked, found.new) == (True, 5, 0)


@pytest.mark.parametrize("setting", [{"SITECRAWL_WORKERS": 2}, {"SITECRAWL_CLUSTER": "redis://127.0.0.1:1"}])
def test_many_workers(tmp_path: Path, setting: dict[str, object]) -> None:
    """Workers that share a crawl are told what to do instead."""
    done = crawl("http://127.0.0.1:1", tmp_path / "job", again=1, **setting)
    assert done.returncode == 1
    assert re.search(r"sitecrawl: again=1 is for crawls of one process.*recrawl=1", done.stderr)
    assert not (tmp_path / "job").exists()


def test_what_has_not_changed_still_counts(tmp_path: Path) -> None:
    """A page that is answered with 304 passes its credit on to what it links to, as in the first night."""
    job = tmp_path / "job"
    tagged = Answer(linked("/one", "/two").encode(), headers=HTML | {"ETag": '"1"'})
    pages: dict[str, Page] = {
        "/": linked("/list", "/page"),
        "/page": linked("/"),
        "/list": tagged,
        "/one": "1",
        "/two": "2",
    }
    with LocalWeb(pages, conditional=True) as web:
        assert crawl(web.root, job).returncode == 0
        first = importance_of(f"{web.root}/one", job)
        for _ in range(3):
            assert crawl(web.root, job, again=1).returncode == 0
    assert web.paths().count("/list") == 4
    assert importance_of(f"{web.root}/one", job) > 0.9 * first > 0.05


def importance_of(url: str, job: Path) -> float:
    with FrontierReader(job) as frontier:
        return next(frontier.importance(record) for _, record in frontier.records() if record.url == url)
