"""robots.txt as RFC 9309 has it, read off the log of a real server."""

from __future__ import annotations

import codecs
import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from crawling import crawl, scrapy, stats_of
from localweb import Answer, LocalWeb, Page, linked

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.base.limits import ROBOTS_SIZE
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.urls.record import UrlRecord, UrlState

PATHS = ("/open", "/secret/1", "/secret/open", "/a.pdf", "/a.pdf?x", "/q?x=1")
SITE: dict[str, Page] = {"/": linked(*PATHS), **dict.fromkeys(PATHS, "page")}


def states(jobdir: Path) -> dict[str, UrlState]:
    """Path → what became of it."""
    with closing(Database(jobdir / "db", hash_name=HASH_NAME)) as database:
        records = [UrlRecord.unpack(value) for _, value in database.scan("urls")]
    return {"/" + record.url.split("/", 3)[3]: record.state for record in records}


def crawled(robots: Page | None, jobdir: Path, **settings: object) -> tuple[list[str], str, int]:
    """Crawl SITE; returns the paths of pages that were asked for, the log, and how often robots.txt was."""
    site = SITE if robots is None else SITE | {"/robots.txt": robots}
    with LocalWeb(site) as web:
        done = crawl(web.root, jobdir, LOG_LEVEL="INFO", STATS_DUMP=True, **settings)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return sorted(web.paths()), done.stderr, [hit.path for hit in web.hits].count("/robots.txt")


def everything() -> list[str]:
    return sorted(SITE)


def test_rules(tmp_path: Path) -> None:
    """Disallow, Allow by the longest match, wildcards and `$`; what is forbidden is kept as excluded and counted."""
    text = "User-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /secret/\nAllow: /secret/open\n"
    asked, log, times = crawled(text + "Disallow: /*.pdf$", tmp_path / "job")
    assert asked == ["/", "/a.pdf?x", "/open", "/q?x=1", "/secret/open"]
    assert times == 1
    assert "'robotstxt/forbidden': 2" in log
    found = states(tmp_path / "job")
    assert {path for path, state in found.items() if state == UrlState.EXCLUDED} == {"/secret/1", "/a.pdf"}
    assert {state for path, state in found.items() if path in asked} == {UrlState.FETCHED}


@pytest.mark.parametrize("delay", ["its robots.txt asks for", "the crawl has"])
def test_a_page_gives_its_seat_away_while_its_host_rests_from_robots_txt(tmp_path: Path, delay: str) -> None:
    """The page on whose way it came is handed out once more, when it may be asked for; robots.txt is not."""
    of_crawl, of_host = (0.01, "") if delay == "the crawl has" else (0, "Crawl-delay: 0.01\n")
    asked, log, times = crawled(f"User-agent: *\n{of_host}Disallow:\n", tmp_path / "job", DOWNLOAD_DELAY=of_crawl)
    assert asked == everything()
    assert times == 1
    assert stats_of(log)["scheduler/dequeued"] == len(SITE) + 1


@pytest.mark.parametrize("status", [404, *(pytest.param(status, marks=pytest.mark.deep) for status in (403, 410))])
def test_a_host_without_robots_txt_allows_everything(tmp_path: Path, status: int) -> None:
    """RFC 9309 §2.3.1.3: a client error means that there are no rules."""
    asked, _, times = crawled(Answer(b"User-agent: *\nDisallow: /", status), tmp_path / "job")
    assert asked == everything()
    assert times == 1


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Answer(b"", 429), id="429"),
        pytest.param(Answer(b"", 503), id="503", marks=pytest.mark.deep),
        pytest.param(Answer(raw=b""), id="lost", marks=pytest.mark.deep),
        pytest.param(Answer(b"", 503, {"Retry-After": "\xb2"}), id="no number", marks=pytest.mark.deep),
    ],
)
def test_a_host_whose_robots_txt_fails_is_not_crawled(tmp_path: Path, answer: Answer) -> None:
    """RFC 9309 §2.3.1.4: it forbids everything for now; asked again with growing pauses, it is given up at last."""
    settings = {"SITECRAWL_FAILURE_DELAY": 0.1, "SITECRAWL_MAX_HOST_FAILURES": 3}
    asked, log, times = crawled(answer, tmp_path / "job", **settings)
    assert asked == []
    assert times == 3
    assert states(tmp_path / "job") == {"/": UrlState.FAILED}
    assert "'robotstxt/unreachable': 3" in log


def test_a_robots_txt_that_comes_back_is_obeyed(tmp_path: Path) -> None:
    """A host that is busy when its robots.txt is first asked for is left alone as long as it says, then crawled."""
    busy = [Answer(b"", 503, {"Retry-After": "1"})]

    def page(path: str, host: str) -> Page | None:
        if path == "/robots.txt":
            return busy.pop() if busy else "User-agent: *\nDisallow: /secret"
        return SITE.get(path)

    with LocalWeb(page) as web:
        assert crawl(web.root, tmp_path / "job", SITECRAWL_FAILURE_DELAY=0.01).returncode == 0
        first, second = [hit.begun for hit in web.hits if hit.path == "/robots.txt"]
        assert second - first >= 1
        assert sorted(web.paths()) == [path for path in everything() if not path.startswith("/secret")]


def test_a_parser_that_fails_holds_nothing_up(tmp_path: Path) -> None:
    """Whatever goes wrong with a robots.txt, the URLs that wait for it come to an end as well."""
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 2, "ROBOTSTXT_PARSER": "builtins.int", "RETRY_ENABLED": False}
    with LocalWeb({}) as web:
        done = crawl(f"{web.root}/1,{web.root}/2", tmp_path / "job", **settings)
    assert done.returncode == 0, done.stderr
    assert states(tmp_path / "job") == {"/1": UrlState.FAILED, "/2": UrlState.FAILED}


def test_redirects_of_robots_txt_are_followed(tmp_path: Path) -> None:
    """RFC 9309 §2.3.1.2, also to another host; the rules count for the host that was asked."""
    with LocalWeb({"/rules": "User-agent: *\nDisallow: /secret"}, address="127.0.0.2") as other:
        moved = Answer(b"", 301, {"Location": f"{other.root}/rules"})
        asked, _, times = crawled(moved, tmp_path / "job", SITECRAWL_ALLOW_PRIVATE=True)
    assert asked == [path for path in everything() if not path.startswith("/secret")]
    assert times == 1


@pytest.mark.parametrize(
    "body",
    [
        codecs.BOM_UTF16_LE + "User-agent: *\nDisallow: /secret".encode("utf-16-le"),
        codecs.BOM_UTF8 + b"User-agent: *\nDisallow: /secret",
        b"User-agent: *\nDisallow: /secret\n" + b"# padding\n" * (ROBOTS_SIZE.value // 10) + b"Disallow: /\n",
        b"\xff\xfe\xff\x00\r\rUser-agent: *\rDisallow: /open\n" + bytes(range(256)),
    ],
    ids=["utf-16", "utf-8 with a mark", "more than 500 KiB", "junk"],
)
def test_strange_bodies(tmp_path: Path, body: bytes) -> None:
    """UTF-16 is read, a byte order mark is none of the first line, and what stands beyond 500 KiB does not count."""
    asked, _, _ = crawled(body, tmp_path / "job")
    allowed = [path for path in everything() if not path.startswith("/secret")]
    assert asked == (everything() if b"\xff\x00\r" in body else allowed)


def test_switched_off(tmp_path: Path) -> None:
    """With ROBOTSTXT_OBEY=False nobody asks for robots.txt, and nothing warns of it."""
    asked, log, times = crawled("User-agent: *\nDisallow: /", tmp_path / "job", ROBOTSTXT_OBEY=False)
    assert asked == everything()
    assert times == 0
    assert "WARNING" not in log


def test_robots_txt_is_in_the_page_store(tmp_path: Path) -> None:
    """Whoever reads the archive can see under which rules it was made."""
    crawled("User-agent: *\nDisallow: /secret", tmp_path / "job")
    with closing(sqlite3.connect(tmp_path / "job" / "pages.sqlite")) as index:
        assert list(index.execute("SELECT status FROM pages WHERE kind = 'robots'")) == [(200,)]


def test_an_exception(tmp_path: Path) -> None:
    """Below the paths of a sheet's exception robots.txt does not count; log, archive, report and `why` say so."""
    text = "User-agent: *\nDisallow: /\nAllow: /$\n"
    with LocalWeb({**SITE, "/robots.txt": text}) as web:
        host = web.root.removeprefix("http://")
        leave = {"reason": "ordered by <its owner>", "paths": ["/secret/", "/open"]}
        job = tmp_path / "job"
        sheets = json.dumps([{"hosts": [host], "robots": leave}])
        done = crawl(web.root, job, LOG_LEVEL="INFO", STATS_DUMP=True, SITECRAWL_SHEETS=sheets)
        assert sorted(web.paths()) == ["/", "/open", "/secret/1", "/secret/open"]
        assert done.stderr.count(f"The robots.txt of {host} is not obeyed below /secret/, /open: ordered by") == 1
        assert "'robotstxt/excepted': 3" in done.stderr
        why = scrapy("why", f"{web.root}/secret/1", "-d", str(job)).stdout
        assert "is not obeyed below /secret/, /open: ordered by <its owner>" in why
        assert "robots.txt forbids it" in scrapy("why", f"{web.root}/a.pdf", "-d", str(job)).stdout
    assert scrapy("report", "-d", str(job), "-o", str(tmp_path / "report.html")).returncode == 0
    assert "ordered by &lt;its owner&gt;" in (tmp_path / "report.html").read_text()
    (warc,) = (job / "warc").glob("*.gz")
    assert f"robots-exception: {host} below /secret/, /open: ordered by".encode() in gzip.decompress(
        warc.read_bytes()
    )


@pytest.mark.deep
def test_an_exception_from_silence(tmp_path: Path) -> None:
    """It holds as well where the robots.txt cannot be had, and the rest of the host waits for that."""
    with LocalWeb({**SITE, "/": linked(*PATHS), "/robots.txt": Answer(b"", 503)}) as web:
        leave = {"reason": "it is ours", "paths": ["/open"]}
        sheets = json.dumps([{"hosts": [web.root.removeprefix("http://")], "robots": leave}])
        crawl(
            f"{web.root}/open {web.root}/a.pdf", tmp_path / "job", SITECRAWL_SHEETS=sheets, SITECRAWL_FAILURE_DELAY=0
        )
        assert web.paths() == ["/open"]
