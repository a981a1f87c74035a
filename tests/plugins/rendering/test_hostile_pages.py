"""What pages may do to a browser: each has its limit, and none costs the crawl another page."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from chromium import executable
from crawling import crawl, scrapy, stats_of
from localweb import Answer, LocalWeb, Page, linked
from scripted_web import script
from waiting import PATIENCE

from sitecrawl.base import limits
from sitecrawl.pagestore import PageReader

pytestmark = pytest.mark.deep

LINK = "document.body.insertAdjacentHTML('beforeend', '<a href=/found>f</a>');"


def page(code: str) -> str:
    return f"<!doctype html><title>t</title><body><script>{code}</script></body>"


HEAP = "/heap"
HOSTILE: Mapping[str, Page] = {
    "/": linked("/never-quiet", "/hangs", "/away", "/later", "/refreshed", "/reload", "/asks", "/tricks", HEAP),
    "/never-quiet": page(f"{LINK} setInterval(() => fetch('/poll'), 50);"),
    "/hangs": page(LINK) + "<img src=/hangs.png>",
    "/away": page(f"{LINK} location.href = '/target';"),
    "/later": page(f"{LINK} setTimeout(() => location.replace('/target'), 50);"),
    "/refreshed": page(LINK) + "<meta http-equiv=refresh content='0;url=/target'>",
    "/reload": page(f"{LINK} location.reload();"),
    "/asks": page(
        "fetch('/large.bin'); fetch('/secret/data.json'); new WebSocket('ws://' + location.host + '/socket');"
        f"for (let i = 0; i < 60; i++) fetch('/many/' + i); {LINK}"
    ),
    "/tricks": page(
        "alert('a'); confirm('b'); prompt('c'); onbeforeunload = () => 'd';"
        "for (let i = 0; i < 20; i++) window.open('/popup?' + i);"
        "fetch('file:///etc/passwd').catch(() => 0); const worker = new Worker('/worker.js');"
        "const told = new Promise(resolve => worker.onmessage = resolve);"
        "Promise.allSettled([told, navigator.serviceWorker?.register('/service-worker.js')]).then(async () => {"
        "await fetch('/last-trick'); location.href = 'data:text/html,<a href=/never>n</a>';"
        "location.href = 'file:///etc/passwd'; window.close(); });"
        f"{LINK}"
    ),
    HEAP: page(  # slowly: a machine that is busy looks at it before the browser has no more to give
        "const all = []; while (true) { all.push(new Array(1e6).fill(all.length));"
        "for (const end = Date.now() + 20; Date.now() < end;); }"
    ),
    "/found": "",
    "/target": "",
}
TRICKS = {"/of-worker", "/service-worker.js", "/last-trick"}
"""What the page of that name asks for until it has done all."""
OTHERS: Mapping[str, Page] = {
    "/robots.txt": "User-agent: *\nDisallow: /secret/",
    "/poll": "1",
    "/worker.js": "",
    "/last-trick": "1",
    "/of-worker": "1",
    "/service-worker.js": script("fetch('/of-service-worker')"),
    "/large.bin": Answer(bytes(300_000), 200, {"Content-Type": "application/octet-stream"}),
    "/secret/data.json": "{}",
}


def test_pages_that_do_harm(tmp_path: Path) -> None:
    """Whatever they do, all are stored once, with what they had when it was too much; the crawl is sound."""
    executable()
    others = dict(OTHERS)
    over = threading.Event()

    def answer(path: str, host: str) -> Page | None:
        if path == "/hangs.png":
            over.wait(PATIENCE)
        return HOSTILE.get(path, others.get(path, "1" if path.startswith("/many/") else None))

    private = LocalWeb({"/robots.txt": "", "/private": "1"}, address="127.0.0.2")
    name = f"http://localhost:{private.port}/private"  # a name that leads into the own network
    with private, LocalWeb(answer) as web:
        others["/worker.js"] = script(
            f"Promise.allSettled(['/of-worker', '{private.root}/private', '{name}'].map(url => fetch(url)))"
            ".then(() => postMessage(1))"
        )
        done = crawl(
            web.root,
            tmp_path / "job",
            render=1,
            SITECRAWL_RENDER_WAIT=6,
            LIMITS={"RENDER_TIME": 100, "RENDER_REQUESTS": 12, "RENDER_SIZE": 200_000, "RENDER_MEMORY": 400 << 20},
            SITECRAWL_DASHBOARD=False,
            CONCURRENT_REQUESTS_PER_DOMAIN=2,
            RETRY_TIMES=0,
            STATS_DUMP=True,
            LOG_LEVEL="INFO",
        )
        over.set()
        assert done.returncode == 0, done.stderr
        for attempt in range(9):  # a page that is quiet for long, on a slow machine, is left before its worker begins
            if not set(web.paths()) >= TRICKS:
                crawl(f"{web.root}/tricks", tmp_path / f"tricks{attempt}", render=1, SITECRAWL_DASHBOARD=False)
        paths, root = set(web.paths()), web.root
    reader = PageReader(tmp_path / "job")
    captures = [(capture.kind, capture.url.rpartition(root)[2]) for capture in reader.captures()]
    titles = {
        capture.url.rpartition(root)[2]: capture.title for capture in reader.captures() if capture.kind == "page"
    }
    reader.close()
    assert {titles[path] for path in ("/away", "/later", "/refreshed", "/reload")} == {"t"}  # their own, all of them
    pages = [path for kind, path in captures if kind == "page"]
    assert sorted(pages) == sorted(HOSTILE)
    assert {path for kind, path in captures if kind == "rendered"} == HOSTILE.keys() - {HEAP}
    refused = ("/secret/", "/never", "/popup", "/socket", "/etc", "/of-service-worker")
    assert not [path for path in paths if path.startswith(refused) and path != "/never-quiet"]
    assert paths >= TRICKS
    assert private.hits == []
    stats = stats_of(done.stderr)
    assert stats["rendering/given_up"] == 1
    for limit in (limits.RENDER_MEMORY, limits.RENDER_REQUESTS, limits.BODY_SIZE, limits.PRIVATE_ADDRESS):
        assert stats[limit.stat] >= 1, limit
    assert scrapy("check-crawl", str(tmp_path / "job")).returncode == 0


def test_a_page_without_end(tmp_path: Path) -> None:
    """It has its time, and is then stored as it came, with the links that it came with."""
    executable()
    endless = page("while (true) {}") + "<a href=/found>f</a>"
    with LocalWeb({"/robots.txt": "", "/": endless, "/found": ""}) as web:
        done = crawl(
            web.root,
            tmp_path / "job",
            render=1,
            SITECRAWL_RENDER_WAIT=2,
            LIMITS={"RENDER_TIME": 5},
            SITECRAWL_DASHBOARD=False,
            RETRY_TIMES=0,
            STATS_DUMP=True,
            LOG_LEVEL="INFO",
        )
    assert done.returncode == 0, done.stderr
    with PageReader(tmp_path / "job") as reader:
        captures = [(capture.kind, capture.url.removeprefix(web.root)) for capture in reader.captures()]
    assert sorted(path for kind, path in captures if kind == "page") == ["/", "/found"]
    assert ("rendered", "/") not in captures
    assert stats_of(done.stderr)[limits.RENDER_TIME.stat] >= 1
    assert scrapy("check-crawl", str(tmp_path / "job")).returncode == 0
