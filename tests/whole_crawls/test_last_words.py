"""The last words of crawls: what their summaries, their finish reasons and their statistics say of what they left."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from crawling import crawl, scrapy, stats_of
from localweb import LocalWeb, linked
from maze import GOOD, prose, with_maze

TOLD = {"STATS_DUMP": True, "LOG_LEVEL": "INFO"}


def reason_of(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    (reason,) = re.findall(r"'finish_reason': '(\w+)'", done.stderr)
    assert f"Spider closed ({reason})" in done.stderr
    return str(reason)


def first_line(done: subprocess.CompletedProcess[str]) -> str:
    (line,) = re.findall(r"(?m)^The crawl .*$", done.stderr)
    return str(line)


def test_a_maze(tmp_path: Path) -> None:
    """The good pages are in, the rest is held back: nothing says "finished", and what is listed is as much."""
    with LocalWeb(with_maze) as web:
        done = crawl(web.root, tmp_path / "job", **TOLD)
        assert {f"/good/{n}" for n in range(GOOD)} <= set(web.paths())
    assert reason_of(done) == "held_back"
    stats = stats_of(done.stderr)
    left = f"{stats['frontier/held']:,}"
    assert first_line(done) == (
        f"The crawl ended with all but {left} known URLs fetched: {left} held back in 1 set that grows without end "
        "(scrapy frontier --demoted lists it)."
    )
    assert "finished" not in done.stderr
    (held,) = scrapy("frontier", "--demoted", "--format", "jsonl", "-d", str(tmp_path / "job")).stdout.splitlines()
    assert json.loads(held)["waiting"] == stats["frontier/held"] == stats["frontier/waiting"]


def test_what_is_told_at_the_end_of_a_maze(tmp_path: Path) -> None:
    """While only the maze is left and sampled, the line says so: how many fetches more, which set, how large."""
    with LocalWeb(with_maze) as web:
        done = crawl(web.root, tmp_path / "job", **TOLD, LOGSTATS_INTERVAL=0.1, DOWNLOAD_DELAY=0.03)
        requests = len(web.paths())
    told = re.findall(
        r"([\d,]+) pages .* waiting  only sets that grow are left: sampling 1 set, at most ([\d,]+) more fetches "
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
    assert reason_of(done) == "max_pages"
    assert first_line(done).startswith(f"The crawl stopped: max_pages is reached, and {left:,} URLs wait (")
    with LocalWeb({"/": linked("/a", "/b"), "/a": "a", "/b": "b"}) as web:
        done = crawl(web.root, tmp_path / "other", max_pages=3, **TOLD)
    assert reason_of(done) == "finished"
    assert first_line(done) == "The crawl finished: nothing is left to fetch."


def test_a_site_that_is_noindex(tmp_path: Path) -> None:
    """All of it comes in, and the summary says what is so of it; the report does, too."""
    pages = {f"/{n}": f"<meta name=robots content=noindex><p>{prose(n)}</p>" for n in range(GOOD)}
    with LocalWeb({"/": linked(*pages) + prose("/"), **pages}) as web:
        done = crawl(web.root, tmp_path / "job", **TOLD)
        assert set(web.paths()) == {"/", *pages}
    fact = f"{web.root.removeprefix('http://')}: {GOOD} of {GOOD + 1} pages are noindex"
    assert reason_of(done) == "finished"
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
    assert reason_of(done) == "finished"
    assert first_line(done) == "The crawl ended with all but 2 known URLs fetched: 2 given up, which never answered."
