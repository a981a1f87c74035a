"""Crawls of a site for members: how they get in, notice that they are out, and keep it to themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from crawling import crawl, states_of, stats_of
from localweb import LocalWeb, linked
from members_web import PASSWORD, TOKEN, USER, MembersWeb

from sitecrawl.frontier.record import UrlState
from sitecrawl.pagestore import PageReader

QUICK = {"SITECRAWL_FAILURE_DELAY": 0.01, "STATS_DUMP": True, "LOG_LEVEL": "DEBUG"}


def form(web: MembersWeb, **more: Any) -> dict[str, Any]:
    return {"kind": "form", "url": f"{web.root}/login", "fields": {"user": USER, "password": PASSWORD}, **more}


def sheets(web: MembersWeb, login: dict[str, Any], **more: Any) -> str:
    return json.dumps([{"hosts": [web.host], "login": login, **more}])


def titles(job: Path) -> set[str]:
    with PageReader(job) as reader:
        return {one.title or "" for one in reader.captures() if one.kind == "page"}


def test_a_form(tmp_path: Path) -> None:
    """The form is sent once, with its hidden token, and all pages come for members; logout and login are left alone."""
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
