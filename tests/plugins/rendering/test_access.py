"""What a browser's requests have of the sheets of hosts, and what a page can get hold of."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from chromium import executable
from crawling import crawl
from localweb import Answer, LocalWeb
from scripted_web import LOGO, script
from waiting import PATIENCE

from sitecrawl.pagestore import PageReader

pytestmark = pytest.mark.deep

SHELL = "<!doctype html><title>app</title><body><div id=root></div><script src=/app.js></script></body>"
HTML = {"Content-Type": "text/html"}


def test_of_that_host_alone(tmp_path: Path) -> None:
    """Scripts' requests to the host have its headers and cookies, those to others none; a page sees neither, and
    cannot log the crawl out.
    """
    executable()
    with LocalWeb({"/logo.png": LOGO}) as other, LocalWeb({}) as web:
        text = f"""
            const about = () => document.getElementById("root").innerText = "cookie:" + document.cookie + ".";
            new Image().src = "{other.root}/logo.png";
            fetch("/logout").catch(() => 0).then(() => fetch("/api")).then(about);
        """
        web.pages = {
            "/": Answer(SHELL.encode(), 200, {**HTML, "Set-Cookie": "sid=5ec2e7; Path=/"}),
            "/app.js": script(text),
            "/api": Answer(b"{}", 200, {"Content-Type": "application/json"}),
            "/logout": "out",
        }
        host = web.root.removeprefix("http://")
        login = {"kind": "cookies", "file": str(tmp_path / "given.txt"), "over_http": True}
        (tmp_path / "given.txt").write_text("# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t\tc\tgiven\n")
        sheets = json.dumps([{"hosts": [host], "headers": {"X-Key": "key-5ec2e7"}, "login": login}])
        job = tmp_path / "job"
        crawl(web.root, job, render=1, SITECRAWL_SHEETS=sheets, SITECRAWL_RENDER_WAIT=2)
        sent = {hit.path: hit.headers for hit in web.hits}
        assert sent.keys() == {"/robots.txt", "/", "/app.js", "/api"}
        assert {headers["X-Key"] for headers in sent.values()} == {"key-5ec2e7"}
        assert sent["/"]["Cookie"] == "c=given"
        assert {*sent["/api"]["Cookie"].split("; ")} == {"c=given", "sid=5ec2e7"}
        assert other.hits
        assert not any({"X-Key", "Cookie"} & hit.headers.keys() for hit in other.hits)
    with PageReader(job) as reader:
        dom = next(reader.read(one).body for one in reader.captures() if one.kind == "rendered")
    assert b"cookie:sid=(masked)." in dom
    assert b"5ec2e7" not in dom


def test_hosts_that_do_not_say_what_they_allow(tmp_path: Path) -> None:
    """They are asked for their robots.txt once, however many parts of how many pages are wanted of them."""
    executable()
    over = threading.Event()
    unanswered: list[str] = []

    def silent(path: str, host: str) -> Answer:
        unanswered.append(path)
        over.wait(PATIENCE)
        return Answer(b"", 500, {})

    with (
        LocalWeb({"/robots.txt": Answer(b"", 503, {})}) as failing,
        LocalWeb(silent, address="127.0.0.2") as mute,
        LocalWeb({}) as web,
    ):
        images = "".join(f"<img src={other.root}/{n}.png>" for other in (failing, mute) for n in range(3))
        page = f"<!doctype html><title>t</title><a href=/1>1</a><script>1</script>{images}"
        web.pages = {"/": page, "/1": page}
        done = crawl(web.root, tmp_path / "job", render=1, SITECRAWL_RENDER_WAIT=1, SITECRAWL_ALLOW_PRIVATE=True)
        over.set()
        assert done.returncode == 0, done.stderr
        assert failing.paths(robots=True) == ["/robots.txt"]
        assert unanswered == ["/robots.txt"]
