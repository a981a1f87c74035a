"""`-a render=1`: pages as a browser has them, with a real Chromium."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from chromium import executable
from crawling import crawl, scrapy, stats_of
from localweb import Answer, LocalWeb, linked
from scripted_web import script, scripted, scripted_web
from whole_web import WholeWeb

from sitecrawl.pagestore import PageReader

pytestmark = pytest.mark.deep

GRAPH: Mapping[str, tuple[str, ...]] = {
    "/": ("/a", "/b", "/plain"),
    "/a": ("/c",),
    "/b": ("/c", "/"),
    "/c": ("/a",),
}
FAST = {"SITECRAWL_RENDER_WAIT": 2, "SITECRAWL_DASHBOARD": False, "STATS_DUMP": True, "LOG_LEVEL": "INFO"}


def kinds(job: Path) -> dict[str, list[str]]:
    """The URLs that are stored, by their kind."""
    found: dict[str, list[str]] = {}
    reader = PageReader(job)
    for capture in reader.captures():
        found.setdefault(capture.kind, []).append(capture.url)
    reader.close()
    return found


def rows(job: Path) -> list[tuple[object, ...]]:
    """What the index says of each capture that the archive says, too."""
    reader = PageReader(job)
    found: list[tuple[object, ...]] = [
        (c.url, c.kind, c.status, c.title, c.size, c.charset, c.hrefs, c.links) for c in reader.captures()
    ]
    reader.close()
    return found


def stored(job: Path, url: str) -> bytes:
    reader = PageReader(job)
    (capture,) = [capture for capture in reader.captures() if capture.url == url]
    body = reader.read(capture).body
    reader.close()
    return body


def is_whole(job: Path) -> bool:
    return scrapy("check-crawl", str(job)).returncode == 0


def test_a_site_of_scripts_is_crawled(tmp_path: Path) -> None:
    """Every page is found by links that only a script makes, and stored once with its DOM and what it is made of."""
    executable()
    job = tmp_path / "job"
    with scripted_web(GRAPH, {"/plain": linked()}) as web:
        done = crawl(web.root, job, render=1, screenshots=1, **FAST)
        assert done.returncode == 0, done.stderr
        hits, root = Counter(web.paths()), web.root
        agents = {hit.headers["User-Agent"] for hit in web.hits}
    found = kinds(job)
    pages = sorted(f"{root}{path}" for path in (*GRAPH, "/plain"))
    assert sorted(found["page"]) == pages
    assert sorted(found["rendered"]) == [f"urn:rendered:{url}" for url in pages]
    assert sorted(found["view"]) == [f"urn:view:{url}" for url in pages]
    assert sorted(found["requisite"]) == sorted(
        f"{root}{path}" for path in ("/app.js", "/logo.png", *(f"/api{p}" for p in GRAPH))
    )
    assert set(hits.values()) == {1}
    assert b"All about page /a." in stored(job, f"urn:rendered:{root}/a")
    assert b"All about" not in stored(job, f"{root}/a")
    assert stored(job, f"urn:view:{root}/a")[8:12] == b"WEBP"
    assert len(agents) == 1
    assert agents.pop().startswith("sitecrawl/")
    assert stats_of(done.stderr)["rendering/pages"] == 5
    assert "rendered                   5  pages, of which 4 gained links or text by that" in done.stderr
    assert is_whole(job)
    why = json.loads(scrapy("why", "-d", str(job), "--json", f"{root}/api/a").stdout)
    assert (why["verdict"], f"by a browser to show {root}/a, with status 200" in why["answer"]) == ("requisite", True)
    report = tmp_path / "report.html"
    assert scrapy("report", str(job), "-o", str(report)).returncode == 0
    assert report.read_text().count("data:image/webp;base64,") == 5
    exported = scrapy("export", "-d", str(job), "--fields", "url,links,text")
    by_url = {row["url"]: row for row in map(json.loads, exported.stdout.splitlines())}
    for path, links in GRAPH.items():  # as the browser showed it
        assert "All about" in by_url[f"{root}{path}"]["text"]
        assert {f"{root}{link}" for link in links} <= set(by_url[f"{root}{path}"]["links"])
    before = rows(job)
    (job / "pages.sqlite").unlink()
    assert scrapy("check-crawl", "--repair", str(job)).returncode == 0
    assert rows(job) == before
    assert is_whole(job)


def test_over_tls_and_through_a_proxy(tmp_path: Path) -> None:
    """A page of https, with parts on other hosts, is rendered through the crawl's proxy. An address that is not
    public is not asked for, nor what the robots.txt of another host forbids, nor what the browser wants for itself.
    """
    executable()
    asked: list[tuple[str, str]] = []
    page = (
        "<!doctype html><title>t</title><body><script src=https://cdn.example/moved.js></script>"
        "<script>fetch('https://10.0.0.1/private').catch(() => 0);"
        "fetch('https://cdn.example/secret').catch(() => 0)</script>"
        "<form><input name=name><input name=email><input name=tel></form></body>"
    )
    pages = {
        ("app.example", "/"): Answer(page.encode(), 200, {"Content-Type": "text/html"}),
        ("app.example", "/made"): Answer(b"made", 200, {"Content-Type": "text/html"}),
        ("cdn.example", "/moved.js"): Answer(b"", 302, {"Location": "https://other.example/app.js"}),
        ("other.example", "/app.js"): script("document.body.innerHTML = '<a href=/made>' + navigator.userAgent"),
        ("cdn.example", "/robots.txt"): Answer(b"User-agent: *\nDisallow: /secret", 200, {}),
    }

    def answer(host: str, path: str) -> Answer:
        asked.append((host, path))
        return pages.get((host, path), Answer(b"", 404, {}))

    job = tmp_path / "job"
    words = ("crawl", "generic", "-a", "seeds=https://app.example/", "-a", "render=1")
    with WholeWeb(answer, tmp_path) as web:
        settings = FAST | {"JOBDIR": job, "SITECRAWL_DELAY_FACTOR": 0, "USER_AGENT": "tester/1"}
        done = scrapy(*words, settings=settings, env=web.environment)
        assert done.returncode == 0, done.stderr
    found = kinds(job)
    assert found["page"] == ["https://app.example/", "https://app.example/made"]
    assert found["requisite"] == ["https://cdn.example/moved.js", "https://other.example/app.js"]
    assert b"tester/1" in stored(job, "urn:rendered:https://app.example/")
    assert {("cdn.example", "/secret"), ("10.0.0.1", "/private"), ("10.0.0.1", "/robots.txt")}.isdisjoint(asked)
    assert {host for host, _ in asked} == {"app.example", "cdn.example", "other.example"}
    assert stats_of(done.stderr)["rendering/requests_of_browser"] >= 1  # it would have a server know of the form
    assert is_whole(job)


def test_auto_learns_where_it_is_worth_it(tmp_path: Path) -> None:
    """Shells are rendered, also such as come with a menu; of plain pages with scripts a few samples; all of it is
    remembered in the next run.
    """
    executable()
    job = tmp_path / "job"
    menu = '<nav><a href="/">home</a></nav><div id=root></div>'
    plain = {
        f"/blog/{n}": linked(f"/blog/{n + 1}", title=f"blog {n}") + f"<p>{f'word{n} ' * 50}<script>1</script>"
        for n in range(6)
    }
    bare = {f"/bare/{n}": linked(f"/bare/{n + 1}") for n in range(3)}
    pages = scripted({f"/app/{n}": (f"/app/{n + 1}",) for n in range(4)}, {**plain, **bare})
    pages |= {f"/app/{n}": str(pages[f"/app/{n}"]).replace("<div id=root></div>", menu) for n in range(4)}
    pages |= {"/": linked("/app/0", "/blog/0", "/bare/0"), "/app/4": linked("/app/5"), "/app/5": linked()}
    with LocalWeb(pages) as web:
        first = crawl(web.root, job, render="auto", order="bfs", max_pages=11, **FAST)
        assert first.returncode == 0, first.stderr
        second = crawl(web.root, job, render="auto", order="bfs", **FAST)
        assert second.returncode == 0, second.stderr
        root = web.root
    rendered = [url.rpartition(root)[2] for url in kinds(job)["rendered"]]
    assert sorted(path for path in rendered if path.startswith("/app/")) == [f"/app/{n}" for n in range(4)]
    assert len([path for path in rendered if path.startswith("/blog/")]) == 3
    assert not [path for path in rendered if path.startswith(("/bare/", "//")) or path == "/"]
    assert len(kinds(job)["page"]) == len(set(kinds(job)["page"])) == 1 + 6 + 6 + 3
    counted = [stats_of(done.stderr) for done in (first, second)]
    assert sum(stats.get("rendering/gained", 0) for stats in counted) == 4
    assert sum(stats.get("rendering/plain", 0) for stats in counted) == 1 + 2 + 3 + 3
    assert is_whole(job)


def test_a_page_that_stays_empty(tmp_path: Path) -> None:
    """It is told of as what it is: nobody is to render who does."""
    executable()
    with LocalWeb({"/": "<!doctype html><title>t</title><script>1</script>"}) as web:
        done = crawl(web.root, tmp_path / "job", render="auto", **FAST)
    assert stats_of(done.stderr)["refused/empty_rendered"] == 1
    assert "no links in a browser, either. Give its scripts more time" in done.stderr
    assert "try -a render=1" not in done.stderr
