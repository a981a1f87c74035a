"""Delay, scope and limits of a real crawl: by its sheets, and changed while it runs."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from crawling import scrapy, stats_of
from dashboards import Crawl
from localweb import LocalWeb, linked
from waiting import PATIENCE, until

from sitecrawl.crawldir.database import Database
from sitecrawl.http.sheets.change import changes_of
from sitecrawl.plugins.report.gather import gather
from sitecrawl.plugins.report.render import render
from sitecrawl.urls.fingerprint import HASH_NAME

SLOW = 1000.0
"""Seconds that no test waits."""


@pytest.fixture
def web() -> Iterator[LocalWeb]:
    """A front page, and the pages of two folders."""
    front = linked(*(f"/a/{n}" for n in range(5)), *(f"/b/{n}" for n in range(5)))
    pages = {f"/{folder}/{n}": linked("/") for folder in "ab" for n in range(5)}
    with LocalWeb({"/": front, **pages}) as made:
        yield made


def host_of(web: LocalWeb) -> str:
    return f"127.0.0.1:{web.port}"


def refused(crawl: Crawl, **fields: object) -> str:
    status, _, body = crawl.ask("act/set", method="POST", body=fields)
    assert status == 400, body
    return str(json.loads(body)["error"])


def sheets(*given: dict[str, object]) -> str:
    return json.dumps(given)


@pytest.mark.deep
def test_two_hosts_with_sheets_of_their_own(web, tmp_path):
    """One host has a limit and a rule of its own, in its summary, and the other one is crawled whole."""
    with ExitStack() as stack:
        pages = {"/": linked(*(f"/{n}" for n in range(4))), **{f"/{n}": linked() for n in range(4)}}
        other = stack.enter_context(LocalWeb(pages))
        given = sheets(
            {"hosts": [host_of(web)], "max_pages": 3, "deny": ["/b/"], "concurrency": 3}, {"hosts": ["*"], "delay": 0}
        )
        seeds = f"{web.root},{other.root}"
        crawl = stack.enter_context(Crawl(seeds, tmp_path / "job", SITECRAWL_SHEETS=given))
        assert crawl.end() == 0
        assert len(web.paths()) == 3
        assert not [path for path in web.paths() if path.startswith("/b/")]
        assert len(other.paths()) == 5
        assert f"{host_of(web)}: its 3 pages are fetched, 3 URLs wait" in crawl.log
        assert "stopped" not in crawl.line("The crawl")
    with Crawl(
        web.root, tmp_path / "job", SITECRAWL_SHEETS=sheets({"hosts": [host_of(web)], "max_pages": 4})
    ) as crawl:
        assert crawl.end() == 0
        assert len(web.paths()) == 4


def test_a_change_survives_a_kill(web, tmp_path):
    """What was changed by hand holds at once, is listed, and holds in the run after a kill."""
    job, host = tmp_path / "job", host_of(web)
    with Crawl(web.root, job, DOWNLOAD_DELAY=SLOW, ROBOTSTXT_OBEY=False) as crawl:
        until(web.paths, "a request")
        assert crawl.act("set", option="deny", host="", value="/b/\n/never").startswith(
            "deny: nothing → /b/ | /never"
        )
        crawl.act("set", option="max_pages", host=host, value="3")
        assert refused(crawl, option="delay", host=host, value="-1") == "delay is a number from 0 on, and not '-1'"
        assert "no regular expression" in refused(crawl, option="allow", host="", value="(")
        assert "cannot be changed" in refused(crawl, option="agent", host="", value="x")
        values = crawl.json(f"terms?host={host}")["values"]
        assert (values["max_pages"], values["delay"]) == (3, None)
        assert crawl.act("set", option="delay", host="", value="2") == "delay: 1000 s → 2 s"  # not to end at once
        until(lambda: len(web.paths()) >= 2, "a request after the pause was taken back")
        crawl.process.send_signal(signal.SIGKILL)
        crawl.process.wait(PATIENCE)
    asked = len(web.paths())
    with Crawl(web.root, job, DOWNLOAD_DELAY=SLOW, ROBOTSTXT_OBEY=False) as crawl:
        assert crawl.end() == 0
        assert not [path for path in web.paths() if path.startswith("/b/")]
        assert asked <= len(web.paths()) <= 4  # a page that was under way may be asked for again
    assert f"{host}: its 3 pages are fetched" in crawl.log
    report = render(gather(job))
    assert "Changed by hand" in report
    assert "/b/ | /never" in report


@pytest.mark.deep
def test_a_host_is_hurried_after_the_crawl_was_changed(web, tmp_path):
    """A delay of one host holds at once, whatever delay of all hosts was set by hand before it."""
    with Crawl(web.root, tmp_path / "job", DOWNLOAD_DELAY=SLOW, ROBOTSTXT_OBEY=False) as crawl:
        until(lambda: crawl.figures()["waiting"] == 10, "all links")
        crawl.act("set", option="delay", host="", value="999")
        crawl.act("set", option="delay", host=host_of(web), value="0")
        assert crawl.end() == 0
    assert len(web.paths()) == 11


@pytest.mark.deep
def test_two_operators(web, tmp_path):
    """What another has changed since somebody looked is not overwritten: who comes second is told so."""
    with Crawl(web.root, tmp_path / "job", DOWNLOAD_DELAY=SLOW, ROBOTSTXT_OBEY=False) as crawl:
        until(web.paths, "a request")
        seen = crawl.json("terms?host=")["values"]
        crawl.act("set", option="deny", host="", value="/a/", was=seen["deny"])
        told = refused(crawl, option="deny", host="", value="/b/", was=seen["deny"])
        assert told == "deny has been changed since you looked, to /a/: look again, and change that"
        now = crawl.json("terms?host=")["values"]["deny"]
        crawl.act("set", option="deny", host="", value="/a/\n/b/", was=now)
        host = f"127.0.0.1.:{web.port}"  # as nobody writes it, and the change is of that host still
        crawl.act("set", option="delay", host=host, value="7", was=None)
        assert crawl.json(f"terms?host={host_of(web)}")["values"]["delay"] == 7


def test_settings_that_are_changed_count(web, tmp_path, monkeypatch):
    """A resume whose settings say something else of a thing than they did then takes it from them, and says so."""
    job, host = tmp_path / "job", host_of(web)
    with Crawl(web.root, job, DOWNLOAD_DELAY=SLOW, ROBOTSTXT_OBEY=False) as crawl:
        until(web.paths, "a request")
        crawl.act("set", option="max_pages", host=host, value="2")
        crawl.act("stop")
        assert crawl.end() == 0
    given = sheets({"hosts": [host], "max_pages": 4})
    with Crawl(web.root, job, SITECRAWL_SHEETS=given) as crawl:
        assert crawl.end() == 0
        assert "The settings say something else than they did" in crawl.log
        assert f"{host}: its 4 pages are fetched" in crawl.log
    database = Database(job / "db", hash_name=HASH_NAME, read_only=True)
    assert [(one.by, one.after) for one in changes_of(database)] == [("by hand", 2), ("by the settings", 4)]
    database.close()
    monkeypatch.setattr("sitecrawl.plugins.report.gather.CHANGES", 1)
    assert [one.by for one in gather(job).changes] == ["by the settings"]  # the newest


def test_scope_is_narrowed_and_widened_again(web, tmp_path):
    """What waits and is out of scope by then is set aside; where scope is wider again, it comes."""
    job, host = tmp_path / "job", host_of(web)
    with Crawl(web.root, job, DOWNLOAD_DELAY=SLOW, ROBOTSTXT_OBEY=False) as crawl:
        until(lambda: crawl.figures()["waiting"] == 10, "all links")
        crawl.act("set", option="deny", host=host, value="/[ab]/[1-4]")
        crawl.act("set", option="delay", host="", value="0")
        assert crawl.end() == 0
        assert stats_of(crawl.log)["frontier/set_aside"] == 8
    assert sorted(web.paths()) == ["/", "/a/0", "/b/0"]
    given = sheets({"hosts": [host], "deny": ["/[ab]/[34]"]})
    with Crawl(web.root, job, DOWNLOAD_DELAY=0, ROBOTSTXT_OBEY=False, SITECRAWL_SHEETS=given) as crawl:
        assert crawl.end() == 0
    assert sorted(web.paths()[3:]) == ["/a/1", "/a/2", "/b/1", "/b/2"]


def by_hand(crawl: Crawl, option: str, value: str | None) -> str:
    """Change it for the whole crawl, as somebody who has looked."""
    was = crawl.json("terms?host=")["values"][option]
    return crawl.act("set", option=option, host="", value=value, was=was)


@pytest.mark.deep
def test_another_kind_of_scope(tmp_path):
    """A crawl whose kind of scope is changed leaves what waits and is out, also after a kill and with seeds that come
    then, until the settings say another kind: then what was set aside comes, and what was never stored if it is met.
    """
    pages = {"/a/": linked("/a/0", "/b/0"), "/a/0": linked("/b/1"), "/b/0": linked("/c")}
    added = {"/x/": linked("/x/0", "/x/1", "/y")}
    job = tmp_path / "job"
    settings: dict[str, Any] = {"DOWNLOAD_DELAY": SLOW, "ROBOTSTXT_OBEY": False}
    with LocalWeb(pages) as web, LocalWeb(added, address="127.0.0.2") as other:
        seeds = f"{web.root}/a/"
        with Crawl(seeds, job, "-a", "scope=host", **settings) as crawl:
            until(lambda: crawl.figures()["waiting"] == 2, "all links")
            told = refused(crawl, option="scope", host="", value="domain")
            assert told == "scope is one of host, site, prefix, any, and not 'domain'"
            assert by_hand(crawl, "scope", "prefix").startswith("scope: host → prefix. What waits")
            told = refused(crawl, option="scope", host="", value="any", was="host")
            assert told == "scope has been changed since you looked, to prefix: look again, and change that"
            crawl.act("seed", urls=f"{other.root}/x/")
            until(lambda: crawl.figures()["fetched"] == 2, "the seed")
            assert crawl.figures()["waiting"] == 4
            by_hand(crawl, "delay", "999")  # and all that is on disk
            crawl.process.send_signal(signal.SIGKILL)
            crawl.process.wait(PATIENCE)
        assert why(job, f"{web.root}/b/1").startswith("out: ")
        with Crawl(seeds, job, "-a", "scope=host", **settings) as crawl:
            by_hand(crawl, "delay", "0")
            assert crawl.end() == 0
            assert stats_of(crawl.log)["frontier/set_aside"] == 1
        assert (sorted(web.paths()), sorted(other.paths())) == (["/a/", "/a/0"], ["/x/", "/x/0", "/x/1"])
        assert why(job, f"{web.root}/b/0") == "out: it is below the folder of no seed (scope=prefix)"
        with Crawl(seeds, job, "-a", "scope=any", **settings | {"DOWNLOAD_DELAY": 0}) as crawl:
            assert crawl.end() == 0
            assert "what was changed by hand counts no more: scope: prefix → any" in crawl.log
        assert sorted(web.paths()) == ["/a/", "/a/0", "/b/0", "/c"]
        changed = [(one.after, one.by) for one in gather(job).changes if one.option == "scope"]
        assert changed == [("any", "by the settings"), ("prefix", "by hand")]


@pytest.mark.deep
def test_a_seed_brings_back_what_was_set_aside(tmp_path):
    """What was left because no seed was near is fetched when one is."""
    settings: dict[str, Any] = {"DOWNLOAD_DELAY": SLOW, "ROBOTSTXT_OBEY": False}
    with (
        LocalWeb({"/a/": linked("/a/0", "/b/0"), "/b/": "page"}) as web,
        LocalWeb({"/": linked("/x")}, address="127.0.0.2") as other,
        Crawl(f"{web.root}/a/,{other.root}/", tmp_path / "job", "-a", "scope=host", **settings) as crawl,
    ):
        until(lambda: crawl.figures()["waiting"] == 3, "all links")
        by_hand(crawl, "scope", "prefix")
        crawl.act("set", option="delay", host=host_of(web), value="0")
        until(lambda: crawl.figures()["waiting"] == 1, "one of them is left, and the other's is to come")
        assert sorted(web.paths()) == ["/a/", "/a/0"]
        crawl.act("seed", urls=f"{web.root}/b/")
        until(lambda: sorted(web.paths())[2:] == ["/b/", "/b/0"], "the seed, and what was set aside")


def why(job: Path, url: str) -> str:
    """What `scrapy why` says of a URL and the crawl's scope."""
    found = scrapy("why", url, "-d", str(job), "--json")
    assert not found.stderr, found.stderr
    return str(json.loads(found.stdout)["evidence"]["scope"])
