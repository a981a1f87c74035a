"""What a crawl with secrets of all kinds tells: on its dashboard, in the log, by webhooks and commands: none."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from crawling import scrapy
from dashboards import Crawl
from localweb import Answer, LocalWeb, linked
from members_web import PASSWORD, USER, MembersWeb
from waiting import PATIENCE, until

ASKED = (*("", "overview", "metrics", "terms"),)
HEADER, OWN, TOKEN, BASIC, LEAKED, HOOK, PLACE = (f"secret-{name}-5ec2e7" for name in "hctblwp")
SECRETS = (PASSWORD, HEADER, OWN, TOKEN, BASIC, LEAKED, HOOK, PLACE, b64encode(f"{USER}:{BASIC}".encode()).decode())
FORM = "<form method=post><input name=user><input type=password name=password></form>"


@pytest.fixture
def leaks() -> Iterator[LocalWeb]:
    """A site that takes no password, and puts the one that it was sent into an address."""
    with LocalWeb({}) as web:
        forms = iter([FORM])

        def answer(path: str, host: str) -> Answer | str | None:
            if path == "/login":
                return next(forms, None) or Answer(b"", 303, {"Location": f"/no?user=me&password={LEAKED}"})
            return Answer(b"no", 403, {"Content-Type": "text/html"}) if path.startswith("/no?") else None

        web.pages = answer
        yield web


def host(web: LocalWeb | MembersWeb) -> str:
    return web.root.removeprefix("http://")


def form(web: LocalWeb | MembersWeb, user: str, password: str) -> dict[str, Any]:
    return {"kind": "form", "url": f"{web.root}/login", "fields": {"user": user, "password": password}}


def told_by_dashboard(crawl: Crawl, web: LocalWeb | MembersWeb) -> Iterator[tuple[str, str]]:
    for name in ASKED:
        asked = f"{name}?host={host(web)}&url={quote(web.root + '/')}"
        status, headers, body = crawl.ask(asked)
        assert status in {200, 400, 404}, (asked, body)
        yield asked, f"{headers}{body.decode()}"


def told_by_commands(job: Path, *urls: str) -> Iterator[tuple[str, str]]:
    for words in (*(("why", url) for url in urls), ("pages",), ("frontier",), ("check-crawl",)):
        done = scrapy(*words, "-d", str(job))
        yield " ".join(words), done.stdout + done.stderr
    report = job.with_name("report.html")
    assert scrapy("report", str(job), "-o", str(report)).returncode == 0
    yield "report", report.read_text()


def test_nobody_is_told(leaks: LocalWeb, tmp_path: Path) -> None:
    """While it runs and after its end, whatever lets the crawl in, and whether that works."""
    pages = {"/": linked("/a"), "/a": "a"}
    (tmp_path / "password").write_text(PASSWORD)
    with MembersWeb() as members, LocalWeb(pages) as bearer, LocalWeb(pages) as basic, LocalWeb({}) as hook:
        hook.pages = {f"/{PLACE}": "ok"}
        (tmp_path / "hook").write_text(f"{hook.root}/{PLACE}")
        sheets: list[dict[str, Any]] = [
            {
                "hosts": [members.host],
                "headers": {"X-Key": HEADER},
                "cookies": {"own": OWN},
                "login": form(members, USER, f"@{tmp_path / 'password'}"),
            },
            {"hosts": [host(leaks)], "login": form(leaks, "me", LEAKED)},
            {"hosts": [host(bearer)], "login": {"kind": "bearer", "token": TOKEN, "over_http": True}},
            {
                "hosts": [host(basic)],
                "login": {"kind": "basic", "user": USER, "password": BASIC, "over_http": True},
            },
        ]
        settings: dict[str, Any] = {
            "SITECRAWL_SHEETS": json.dumps(sheets),
            "SITECRAWL_WEBHOOKS": json.dumps({"url": f"@{tmp_path / 'hook'}", "secret": HOOK}),
            "SITECRAWL_FAILURE_DELAY": 0.01,
            "LOG_LEVEL": "DEBUG",
        }
        webs = (members, leaks, bearer, basic)
        members.opens.clear()
        with Crawl(" ".join(web.root for web in webs), tmp_path / "job", **settings) as crawl:
            until(lambda: "does not let the crawl log in" in crawl.log, "a login that fails")
            until(lambda: any("/page/" in path for path in members.paths()), "a login that works")
            told = [one for web in webs for one in told_by_dashboard(crawl, web)]
            members.opens.set()
            assert crawl.process.wait(PATIENCE) == 0, crawl.log
        told += told_by_commands(tmp_path / "job", f"{leaks.root}/", f"{members.root}/logout")
        told += [("log", crawl.log), *(("webhook", hit.body.decode()) for hit in hook.hits)]
    assert "/no?" in " ".join(leaks.paths())
    assert len(hook.hits) == 2
    for place, text in told:
        for secret in (*SECRETS, *members.all_sessions):
            assert secret not in text, (place, secret)
