"""The last words of crawls: what their summaries, their finish reasons and their statistics say of what they left."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from crawling import crawl, scrapy, stats_of
from localweb import Answer, LocalWeb, Page, linked
from maze import GOOD, prose, with_maze

TOLD = {"STATS_DUMP": True, "LOG_LEVEL": "INFO"}


def _reason_of(done: subprocess.CompletedProcess[str]) -> str:
    (reason,) = re.findall(r"'finish_reason': '(\w+)'", done.stderr)
    assert f"Spider closed ({reason})" in done.stderr
    return str(reason)


def first_line(done: subprocess.CompletedProcess[str]) -> str:
    (line,) = re.findall(r"(?m)^The crawl .*$", done.stderr)
    return str(line)


@pytest.mark.deep
def test_a_maze(tmp_path: Path) -> None:
    """The good pages are in, the rest is held back: nothing says "finished", and what is listed is as much."""
    with LocalWeb(with_maze) as web:
        done = crawl(web.root, tmp_path / "job", **TOLD, SITECRAWL_EXIT_CODES=True, SITECRAWL_TRAP_BUDGET=300)
        assert {f"/good/{n}" for n in range(GOOD)} <= set(web.paths())
    assert _reason_of(done) == "held_back"
    stats = stats_of(done.stderr)
    left = f"{stats['frontier/held']:,}"
    assert first_line(done) == (
        f"The crawl ended with {left} known URLs not fetched: {left} held back in 1 set that grows without end "
        "(scrapy frontier --demoted lists it)."
    )
    assert "finished" not in done.stderr
    assert done.returncode == 5
    (held,) = scrapy("frontier", "--demoted", "--format", "jsonl", "-d", str(tmp_path / "job")).stdout.splitlines()
    assert json.loads(held)["waiting"] == stats["frontier/held"] == stats["frontier/waiting"]


@pytest.mark.deep
def test_what_is_told_at_the_end_of_a_maze(tmp_path: Path) -> None:
    """While only the maze is left and sampled, the line says so: how many fetches more, which set, how large."""
    with LocalWeb(with_maze) as web:
        done = crawl(
            web.root, tmp_path / "job", **TOLD, LOGSTATS_INTERVAL=0.1, DOWNLOAD_DELAY=0.02, SITECRAWL_TRAP_BUDGET=700
        )
        requests = len(web.paths())
    told = re.findall(
        r"([\d,]+) pages .* waiting  only sets that grow are left: fetching 1 set, at most ([\d,]+) more fetches "
        r"while it grows: \S+/maze/\* \([\d,]+ waiting, [\d.]+ new a page\)",
        done.stderr,
    )
    assert told
    for pages, more in told:
        assert requests <= int(pages.replace(",", "")) + int(more.replace(",", "")) + 2


def test_max_pages(tmp_path: Path) -> None:
    """A limit that has stopped the crawl is the reason; one that is just enough is not."""
    with LocalWeb(with_maze) as web:
        done = crawl(web.root, tmp_path / "job", max_pages=10, **TOLD)
    left = stats_of(done.stderr)["frontier/waiting"]
    assert _reason_of(done) == "max_pages"
    assert first_line(done).startswith(f"The crawl stopped: max_pages is reached, and {left:,} URLs wait (")
    with LocalWeb({"/": linked("/a", "/b"), "/a": "a", "/b": "b"}) as web:
        done = crawl(web.root, tmp_path / "other", max_pages=3, **TOLD)
    assert _reason_of(done) == "finished"
    assert first_line(done) == "The crawl finished: nothing is left to fetch."


def test_a_site_that_is_noindex(tmp_path: Path) -> None:
    """All of it comes in, and the summary says what is so of it; the report does, too."""
    pages = {f"/{n}": f"<meta name=robots content=noindex><p>{prose(n)}</p>" for n in range(GOOD)}
    with LocalWeb({"/": linked(*pages) + prose("/"), **pages}) as web:
        done = crawl(web.root, tmp_path / "job", **TOLD)
        assert set(web.paths()) == {"/", *pages}
    fact = f"{web.root.removeprefix('http://')}: {GOOD} of {GOOD + 1} pages are noindex"
    assert _reason_of(done) == "finished"
    assert first_line(done) == "The crawl finished: nothing is left to fetch."
    assert f"of the sites                  {fact}\n" in done.stderr
    report = scrapy("report", "-d", str(tmp_path / "job"), "-o", "-")
    assert fact in report.stdout


def test_a_site_of_one_body(tmp_path: Path) -> None:
    """An application that the browser builds has the same bytes at every address: that is said."""
    body = linked(*(f"/{n}" for n in range(GOOD)))
    with LocalWeb(lambda path, host: None if path == "/robots.txt" else body) as web:
        done = crawl(web.root, tmp_path / "job", **TOLD)
        asked = len(web.paths())
    assert re.search(rf"of the sites +127\S+: all {asked} pages have one body\n", done.stderr)


def test_a_host_that_never_answers(tmp_path: Path) -> None:
    """What was given up was not fetched; nothing waits, so the reason is Scrapy's own."""
    with LocalWeb({}) as web:
        gone = web.root
    settings = {**TOLD, "SITECRAWL_FAILURE_DELAY": 0.01, "RETRY_TIMES": 1}
    done = crawl(f"{gone}/a {gone}/b", tmp_path / "job", **settings)
    assert _reason_of(done) == "finished"
    where = gone.removeprefix("http://")
    assert first_line(done) == f"The crawl fetched no page: connection refused ({where})."
    assert "\nIt ended with 2 known URLs not fetched: 2 failed.\n" in done.stderr


def test_no_page(tmp_path: Path) -> None:
    """Each host's cause is named, and the exit code is not 0: in the summary, the statistics and the report."""
    elsewhere = Answer(status=302, headers={"Location": "/out"})
    bomb = Answer(gzip.compress(bytes(200_000)), 200, {"Content-Encoding": "gzip"})
    webs: dict[str, dict[str, Page]] = {
        "answers 403 Forbidden": {"/": Answer(status=403)},
        "robots.txt forbids it": {"/robots.txt": "User-agent: *\nDisallow: /"},
        "robots.txt answers 503 Service Unavailable, so nothing may be asked for": {
            "/robots.txt": Answer(status=503)
        },
        "too large": {"/": "x" * 200_000},
        "unpacks to more than DOWNLOAD_MAXSIZE, as a decompression bomb does": {"/": bomb},
        "redirects out of scope": {"/": elsewhere},
        "no proper HTTP": {"/": Answer(raw=b"SSH-2.0-OpenSSH\r\n\r\n")},
    }
    settings = {**TOLD, "SITECRAWL_FAILURE_DELAY": 0.01, "DOWNLOAD_MAXSIZE": 100_000, "SITECRAWL_EXIT_CODES": True}
    with ExitStack() as stack:
        hosts = {why: stack.enter_context(LocalWeb(pages)).root for why, pages in webs.items()}
        done = crawl(" ".join(hosts.values()), tmp_path / "job", deny="/out$", **settings)
    assert done.returncode == 4, done.stderr
    assert first_line(done).startswith("The crawl fetched no page: ")
    assert first_line(done).endswith("; and 4 more causes.")
    stats = stats_of(done.stderr)
    assert stats["outcomes/no_page"] == 1
    assert "2xx" not in done.stderr
    assert re.search(r"failed downloads +5  .*unpacks to more than DOWNLOAD_MAXSIZE", done.stderr), done.stderr
    packed = hosts["unpacks to more than DOWNLOAD_MAXSIZE, as a decompression bomb does"]
    why_not = json.loads(scrapy("why", "-d", str(tmp_path / "job"), "--json", packed).stdout)
    assert why_not["advice"].startswith("if it is no bomb, set DOWNLOAD_MAXSIZE higher: then ")
    report = scrapy("report", "-d", str(tmp_path / "job"), "-o", "-").stdout
    assert "No page was fetched." in report
    for why, root in hosts.items():
        where = root.removeprefix("http://") + (f", to {root}/out" if why == "redirects out of scope" else "")
        assert re.search(rf"(?m) 1  {re.escape(f'{why}, such as {where}')}$", done.stderr), done.stderr
        assert stats[f"outcomes/hosts_without_page/{why}"] == 1
        assert why in report


def test_one_page_is_enough(tmp_path: Path) -> None:
    """Of a crawl that fetched something the rows alone tell what gave nothing; a resume with nothing to do is no
    failure, and a code of 0 is for who takes no page for a success.
    """
    with LocalWeb({"/": "a page"}) as web, LocalWeb({}) as empty:
        both = f"{web.root} {empty.root}"
        done, again = (crawl(both, tmp_path / "job", SITECRAWL_EXIT_CODES=True) for _ in range(2))
        none = crawl(empty.root, tmp_path / "none")
    assert done.returncode == again.returncode == none.returncode == 0
    assert first_line(done) == "The crawl finished: nothing is left to fetch."
    assert first_line(again).startswith(f"{first_line(done)} What is new since then: ")
    assert f"answers 404 Not Found, such as {empty.root.removeprefix('http://')}" in done.stderr
    assert first_line(none).startswith("The crawl fetched no page: answers 404 Not Found (")
