"""Crawls of a site for members: how they get in, notice that they are out, and keep it to themselves."""

from __future__ import annotations

import gzip
import json
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from crawling import PROJECT, crawl, environment, scrapy, scrapy_command, states_of, stats_of
from localweb import Answer, LocalWeb, Page, linked
from members_web import PASSWORD, TOKEN, USER, MembersWeb
from waiting import until

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import FAMILIES, Database
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.pagestore import PageReader

QUICK = {"SITECRAWL_FAILURE_DELAY": 0.01, "STATS_DUMP": True, "LOG_LEVEL": "DEBUG"}


def form(web: MembersWeb, **more: Any) -> dict[str, Any]:
    return {"kind": "form", "url": f"{web.root}/login", "fields": {"user": USER, "password": PASSWORD}, **more}


def sheets(web: MembersWeb, login: dict[str, Any], **more: Any) -> str:
    return json.dumps([{"hosts": [web.host], "login": login, **more}])


def cookies_txt(folder: Path, session: str) -> Path:
    file = folder / "cookies.txt"
    file.write_text(f"# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t\tsid\t{session}\n")
    return file


def titles(job: Path) -> set[str]:
    with PageReader(job) as reader:
        return {one.title or "" for one in reader.captures() if one.kind == "page"}


def test_a_form(tmp_path: Path) -> None:
    """The form is sent once, with its hidden token, and all pages come for members; logout is left alone."""
    with MembersWeb() as web:
        done = crawl(web.root, tmp_path / "job", SITECRAWL_SHEETS=sheets(web, form(web)), **QUICK)
    assert done.returncode == 0, done.stderr
    assert (web.logins, web.logouts, web.refused_logins) == (1, 0, 0)
    assert titles(tmp_path / "job") == {"Members /", *(f"Members /page/{n}" for n in range(8))}
    states = states_of(tmp_path / "job")
    assert {path for path in ("/logout", "/login") if states[web.root + path] == UrlState.EXCLUDED} == {
        "/logout",
        "/login",
    }
    assert stats_of(done.stderr)["login/logins"] == 1


@pytest.mark.parametrize("shows", ["redirect", pytest.param("text", marks=pytest.mark.deep)])
def test_a_session_that_ends(shows: str, tmp_path: Path) -> None:
    """Whatever a site shows to who is logged out, it is no page: the crawl logs in again, and gets all pages."""
    with MembersWeb(ends_after=4, shows=shows) as web:
        login = form(web, logged_out="session has expired", per_hour=100)
        done = crawl(web.root, tmp_path / "job", SITECRAWL_SHEETS=sheets(web, login), **QUICK)
    assert titles(tmp_path / "job") == {"Members /", *(f"Members /page/{n}" for n in range(8))}
    assert set(states_of(tmp_path / "job").values()) == {UrlState.FETCHED, UrlState.EXCLUDED}
    assert stats_of(done.stderr)["refused/logged_out"] == web.logins - 1 > 0
    assert f"{web.host} has logged the crawl out" in done.stderr


def test_a_header(tmp_path: Path) -> None:
    """A name and a password are sent with every request to that host, robots.txt included."""
    login = {"kind": "basic", "user": USER, "password": PASSWORD, "over_http": True}
    with MembersWeb(way="basic", shows="status") as web:
        crawl(web.root, tmp_path / "job", SITECRAWL_SHEETS=sheets(web, login), **QUICK)
    assert len(titles(tmp_path / "job")) == 9 + 1  # the login page is a page like any other
    assert all("Authorization" in headers for _, _, headers in web.seen)


def test_nothing_over_plain_http(tmp_path: Path) -> None:
    """What lets the crawl in is not sent over http unless the sheet says so, and no page is taken logged out."""
    with MembersWeb(extra={"/open": "<title>open</title>"}, way="bearer") as web:
        login = {"kind": "bearer", "token": TOKEN}
        crawl(f"{web.root}/open", tmp_path / "job", SITECRAWL_SHEETS=sheets(web, login), **QUICK)
    assert not any("Authorization" in headers for _, _, headers in web.seen)
    assert set(states_of(tmp_path / "job").values()) == {UrlState.FAILED}
    assert titles(tmp_path / "job") == set()


@pytest.mark.deep
def test_a_login_that_need_not_work(tmp_path: Path) -> None:
    """With `required = false` pages are fetched as they are for everybody."""
    with MembersWeb(extra={"/": linked("/open"), "/open": "<title>open</title>"}) as web:
        login = form(web, fields={"user": USER, "password": "wrong"}, required=False)
        crawl(web.root, tmp_path / "job", SITECRAWL_SHEETS=sheets(web, login), **QUICK)
    assert titles(tmp_path / "job") == {"page", "open"}


@pytest.mark.deep
def test_a_failed_login_is_mended(tmp_path: Path) -> None:
    """A wrong password is sent once and told of in one line, no page is fetched logged out, and all are kept: resumed
    with the right one the crawl gets them.
    """
    with MembersWeb() as web:
        wrong = sheets(web, form(web, fields={"user": USER, "password": "wrong"}))
        done = crawl(web.root, tmp_path / "job", SITECRAWL_SHEETS=wrong, **QUICK)
        said = [line for line in done.stderr.splitlines() if "WARNING" in line and "does not let the crawl" in line]
        assert len(said) == 1
        assert "asks for a password again" in said[0]
        assert "The crawl fetched no page: the login failed: the page that came asks for a password" in done.stderr
        assert (web.logins, web.refused_logins) == (0, 1)
        assert web.paths() == ["/login", "/login"]
        crawl(web.root, tmp_path / "job", SITECRAWL_SHEETS=sheets(web, form(web)), **QUICK)
    assert len(titles(tmp_path / "job")) == 9


def test_cookies_of_a_browser(tmp_path: Path) -> None:
    """The cookies of somebody who is logged in let the crawl in, and when they do not any more it says so."""
    with MembersWeb(ends_after=5) as web:
        web.sessions["from-a-browser"] = 0
        file = str(cookies_txt(tmp_path, "from-a-browser"))
        login = {"kind": "cookies", "file": file, "url": f"{web.root}/login", "over_http": True}
        done = crawl(web.root, tmp_path / "job", SITECRAWL_SHEETS=sheets(web, login), **QUICK)
    assert len(titles(tmp_path / "job")) == 5
    assert "3 pages in a row do not take the cookies" in done.stderr


def test_nothing_leaks(tmp_path: Path) -> None:
    """Secrets are in no file but that of the cookies, which is its owner's alone, and in nothing that is printed."""
    secrets = [PASSWORD, "x-key-5ec2e7", "cookie-5ec2e7"]
    with LocalWeb({"/": "elsewhere"}) as other, MembersWeb(ends_after=5, extra={"/out": linked(other.root)}) as web:
        (tmp_path / "password").write_text(PASSWORD)
        login = form(web, fields={"user": USER, "password": f"@{tmp_path / 'password'}"}, per_hour=50)
        text = sheets(web, login, headers={"X-Key": secrets[1]}, cookies={"own": secrets[2]})
        job = tmp_path / "job"
        done = crawl(f"{web.root} {web.root}/out", job, scope="any", SITECRAWL_SHEETS=text, **QUICK)
        assert len(titles(job)) == 11
        secrets += web.all_sessions
        assert all({"X-Key", "Cookie"} <= headers.keys() for _, _, headers in web.seen)
        assert not any({"X-Key", "Cookie"} & hit.headers.keys() for hit in other.hits)
    cookies = job / "session/cookies.txt"
    assert (cookies.stat().st_mode & 0o777, cookies.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert secrets[2] in cookies.read_text()
    report = tmp_path / "report.html"
    assert scrapy("report", "-d", str(job), "-o", str(report)).returncode == 0
    why = scrapy("why", f"{web.root}/logout", "-d", str(job)).stdout
    printed = [done.stdout, done.stderr, report.read_text(), why]
    assert "would log the crawl out" in printed[-1]
    for secret in secrets:
        assert not [place for place in contents(job) if secret.encode() in place[1] and place[0] != cookies]
        assert not [text for text in printed if secret in text]


def contents(job: Path) -> list[tuple[Path, bytes]]:
    """Every file of a crawl; of what is compressed, what is in it."""
    found = [(path, path.read_bytes()) for path in job.rglob("*") if path.is_file()]
    unpacked = [(path, gzip.decompress(data)) for path, data in found if path.suffix == ".gz"]
    with closing(Database(job / "db", hash_name=HASH_NAME, read_only=True)) as database:
        rows = [(job / "db", key + value) for name in FAMILIES for key, value in database.scan(name)]
    return [*found, *unpacked, *rows]


@pytest.mark.deep
def test_cookies_of_all_hosts(tmp_path: Path) -> None:
    """With SITECRAWL_COOKIES a host is sent what it has set, and a resumed crawl still has it."""
    pages: dict[str, Page] = {
        "/": Answer(linked("/a").encode(), 200, {"Content-Type": "text/html", "Set-Cookie": "k=v1"}),
        "/a": "a",
    }
    with LocalWeb(pages) as web:
        crawl(web.root, tmp_path / "job", SITECRAWL_COOKIES=True, **QUICK)
        crawl(f"{web.root}/a?again", tmp_path / "job", SITECRAWL_COOKIES=True, **QUICK)
        sent = [(hit.path, hit.headers.get("Cookie")) for hit in web.hits if hit.path != "/robots.txt"]
    assert sent == [("/", None), ("/a", "k=v1"), ("/a?again", "k=v1")]


@pytest.mark.deep
def test_a_proxy_of_one_host(tmp_path: Path) -> None:
    """What a sheet's proxy is for goes through it, robots.txt included; nobody sees its password."""
    with LocalWeb(lambda path, host: f"<title>{host}</title>by the proxy") as far, LocalWeb({"/": "near"}) as near:
        proxy = far.root.replace("//", "//me:word-5ec2e7@")
        text = json.dumps([{"hosts": ["far.example"], "proxy": proxy}])
        job = tmp_path / "job"
        done = crawl(f"http://far.example/ {near.root}", job, SITECRAWL_SHEETS=text, **QUICK)
        assert sorted((hit.path, hit.host) for hit in far.hits) == [
            ("http://far.example/", "far.example"),
            ("http://far.example/robots.txt", "far.example"),
        ]
        assert {hit.headers["Proxy-Authorization"] for hit in far.hits} == {"Basic bWU6d29yZC01ZWMyZTc="}
        assert sorted(near.paths(robots=True)) == ["/", "/robots.txt"]
    assert "far.example" in titles(job)
    for secret in (b"word-5ec2e7", b"bWU6d29yZC01ZWMyZTc="):
        assert not [place for place in contents(job) if secret in place[1]]
        assert secret.decode() not in done.stderr + done.stdout


@pytest.mark.deep
def test_killed(tmp_path: Path) -> None:
    """A crawl that is killed in the middle goes on: with the session that it had, or another, and never with half."""
    with MembersWeb(pages=25) as web:
        words = ["-a", f"seeds={web.root}", "-s", "DOWNLOAD_DELAY=0.02"]
        settings = {"JOBDIR": tmp_path / "job", "SITECRAWL_SHEETS": sheets(web, form(web)), "LOG_LEVEL": "INFO"}
        command = scrapy_command("crawl", "generic", *words, settings=settings)
        crawler = subprocess.Popen(command, cwd=PROJECT, env=environment(), stderr=subprocess.DEVNULL)
        try:
            until(lambda: len(web.paths()) > 8, "pages before the kill")
        finally:
            crawler.kill()
            crawler.wait()
        done = crawl(web.root, tmp_path / "job", SITECRAWL_SHEETS=sheets(web, form(web)), **QUICK)
        assert done.returncode == 0, done.stderr
    assert len(titles(tmp_path / "job")) == 26
    assert web.logins <= 2
    assert web.logouts == web.refused_logins == 0
    assert [file.name for file in (tmp_path / "job/session").iterdir()] == ["cookies.txt"]
