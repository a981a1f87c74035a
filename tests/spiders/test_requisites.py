"""`-a requisites=1`: a page and all that it is made of, from whatever host."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import crawl, scrapy, stats_of
from localweb import Answer, LocalWeb, Page, linked

from sitecrawl.base.limits import REQUISITES

HTML = {"Content-Type": "text/html"}
CSS = {"Content-Type": "text/css"}
PNG = Answer(b"\x89PNG\r\n\x1a\n" + bytes(20), 200, {"Content-Type": "image/png"})


def css(text: str) -> Answer:
    return Answer(text.encode(), 200, CSS)


def pages(jobdir: Path, *options: str) -> set[str]:
    """The URLs that `scrapy pages` lists."""
    done = scrapy("pages", "-d", str(jobdir), "--format", "jsonl", *options)
    assert done.returncode == 0, done.stderr
    return {json.loads(line)["url"] for line in done.stdout.splitlines()}


def whole(jobdir: Path) -> bool:
    """Whether `check-crawl` finds nothing."""
    return scrapy("check-crawl", str(jobdir)).returncode == 0


@pytest.fixture
def elsewhere() -> Iterator[LocalWeb]:
    """What pages may be made of, on a host that is out of scope."""
    answers: dict[str, Page] = {
        "/logo.png": PNG,
        "/font.woff2": PNG,
        "/bg.png": PNG,
        "/theme.css": css("@import 'theme.css'; @import url(more.css); a{b:url(bg.png)}"),
        "/more.css": css("@font-face{src:url(font.woff2)}"),
        "/frame": "<a href=/never>x</a><img src=/in-frame.png><iframe src=/frame></iframe>",
        "/in-frame.png": PNG,
        "/moved.js": Answer(b"", 302, {"Location": "/script.js", **HTML}),
        "/script.js": Answer(b"1", 200, {"Content-Type": "text/javascript"}),
        "/secret.png": PNG,
        "/robots.txt": "User-agent: *\nDisallow: /secret.png",
    }
    with LocalWeb(answers) as web:
        yield web


def test_an_archive_is_whole(elsewhere: LocalWeb, tmp_path: Path) -> None:
    """All that the pages are made of is stored, once, and told from pages; nothing else of the other host is."""
    there = elsewhere.root
    home = (
        f"<link rel=stylesheet href={there}/theme.css><script src={there}/moved.js></script>"
        f"<iframe src={there}/frame></iframe><img src=/own.png srcset='/own2.png 2x, {there}/secret.png 3x'>"
        f"<a href=/page>p</a><a href={there}/out>o</a><iframe src=/in-scope></iframe>"
        f"<p style='background:url(/style.png)'>"
    )
    answers: dict[str, Page] = {
        "/": home,
        "/page": f"<img src={there}/logo.png><img src=/own.png><img src=/gone.png>",
        "/in-scope": linked("/deep"),
        "/deep": linked("/"),
        **dict.fromkeys(("/own.png", "/own2.png", "/style.png"), PNG),
        "/robots.txt": "",
    }
    with LocalWeb(answers) as site:
        job = tmp_path / "job"
        done = crawl(site.root, job, requisites=1, SITECRAWL_ALLOW_PRIVATE=True)
        assert done.returncode == 0, done.stderr
        root = site.root
        assert pages(job, "--kind", "page") == {f"{root}/{name}" for name in ("", "page", "in-scope", "deep")}
        own = {f"{root}/{name}" for name in ("own.png", "own2.png", "style.png", "gone.png")}
        names = ("theme.css", "more.css", "bg.png", "font.woff2", "moved.js", "script.js", "frame", "in-frame.png")
        requisites = own | {f"{there}/{name}" for name in (*names, "logo.png")}
        assert pages(job, "--kind", "requisite") == requisites
        assert requisites.isdisjoint(pages(job))
        assert {"/never", "/out", "/secret.png"}.isdisjoint(elsewhere.paths())
        for web in (site, elsewhere):
            assert len(web.paths()) == len(set(web.paths()))
        assert "  2xx pages                4" in done.stderr
        assert "requisites                13" in done.stderr
        assert whole(job)


def test_nothing_of_it_by_default(elsewhere: LocalWeb, tmp_path: Path) -> None:
    """Without the argument a page's images are no business of a crawl."""
    with LocalWeb({"/": f"<img src=/own.png><img src={elsewhere.root}/logo.png>", "/robots.txt": ""}) as site:
        assert crawl(site.root, tmp_path / "job", SITECRAWL_ALLOW_PRIVATE=True).returncode == 0
        assert site.paths() == ["/"]
        assert elsewhere.hits == []


def test_a_limit_of_pages_is_one_of_pages(tmp_path: Path) -> None:
    """What the last pages are made of is fetched still, and comes before other pages."""
    answers: dict[str, Page] = {f"/{n}": linked(f"/{n + 1}") + f"<img src=/{n}.png>" for n in range(20)}
    answers |= {f"/{n}.png": PNG for n in range(20)} | {"/robots.txt": ""}
    with LocalWeb(answers) as site:
        job = tmp_path / "job"
        assert crawl(f"{site.root}/0", job, requisites=1, max_pages=3).returncode == 0
        assert site.paths() == ["/0", "/0.png", "/1", "/1.png", "/2", "/2.png"]
        assert whole(job)
        assert crawl(f"{site.root}/0", job, requisites=1, max_pages=4).returncode == 0
        assert site.paths()[6:] == ["/3", "/3.png"]
        assert whole(job)


def test_a_page_has_an_allowance(tmp_path: Path) -> None:
    """However it is nested: sheets that import new ones and frames in frames end, and so does a page of images."""

    def endless(path: str, host: str) -> Page | None:
        if path == "/":
            images = "".join(f"<img src=/i{n}.png>" for n in range(5))
            return f"{images}<link rel=stylesheet href=/s0.css><iframe src=/f/0></iframe>"
        if path.startswith("/s"):
            number = int(path[2:-4])
            return css(f"@import 's{2 * number + 1}.css'; @import 's{2 * number + 2}.css';")
        if path.startswith("/f/"):
            return f"<iframe src=/f/{int(path[3:]) + 1}></iframe>"
        return PNG if path.startswith("/i") else "" if path == "/robots.txt" else None

    with LocalWeb(endless) as site:
        job = tmp_path / "job"
        counted = {"STATS_DUMP": True, "LOG_LEVEL": "INFO", "LIMITS": {"REQUISITES": 25}}
        done = crawl(site.root, job, requisites=1, deny="/f/", **counted)
        assert done.returncode == 0, done.stderr
        assert stats_of(done.stderr).get(REQUISITES.stat, 0) > 0
        assert len(site.paths()) <= 1 + 25
        assert len([path for path in site.paths() if path.startswith("/f/")]) == 1 + (25 - 7) // 2
        assert whole(job)


@pytest.mark.deep
def test_a_soft_404_is_no_page(tmp_path: Path) -> None:
    """An image that is a page is not followed, until a page links to it: then it is one."""
    answers: dict[str, Page] = {
        "/": linked("/a") + "<img src=/image>",
        "/image": linked("/from-image"),
        "/from-image": linked(),
        "/a": linked(),
        "/robots.txt": "",
    }
    with LocalWeb(answers) as site:
        job = tmp_path / "job"
        assert crawl(site.root, job, requisites=1).returncode == 0
        assert sorted(site.paths()) == ["/", "/a", "/image"]
        assert pages(job, "--kind", "requisite") == {f"{site.root}/image"}
        assert whole(job)
        answers["/a"] = linked("/image")
        site.hits.clear()
        job = tmp_path / "other"
        assert crawl(site.root, job, requisites=1).returncode == 0
        assert set(site.paths()) == {"/", "/a", "/image", "/from-image"}
        assert f"{site.root}/image" in pages(job, "--kind", "page")
        assert whole(job)


@pytest.mark.deep
def test_images_on_thousands_of_urls_are_no_trap(tmp_path: Path) -> None:
    """They are not judged, and the pages' site is not judged by them: all pages come in."""
    count = 120
    answers: dict[str, Page] = {
        "/": linked(*(f"/page/{n}" for n in range(count))),
        **{
            f"/page/{n}": f"<title>{n}</title>{'word ' * n}" + "".join(f"<img src=/i/{n}/{m}.png>" for m in range(10))
            for n in range(count)
        },
        "/robots.txt": "",
    }
    with LocalWeb(lambda path, host: PNG if path.startswith("/i/") else answers.get(path)) as site:
        job = tmp_path / "job"
        done = crawl(site.root, job, requisites=1)
        assert done.returncode == 0, done.stderr
        assert len(pages(job, "--kind", "page")) == count + 1
        assert len(pages(job, "--kind", "requisite")) == 10 * count
        assert "held back" not in done.stderr
        assert whole(job)


def test_pages_are_read_elsewhere(elsewhere: LocalWeb, tmp_path: Path) -> None:
    """Also where processes of their own read pages and sheets; a frame that is out of scope is a part of its page."""
    there = elsewhere.root
    answers: dict[str, Page] = {
        "/": f"<link rel=stylesheet href={there}/theme.css><iframe src=/frame></iframe>",
        "/frame": f"<img src={there}/logo.png><a href=/never>x</a>",
        "/robots.txt": "",
    }
    with LocalWeb(answers) as site:
        job = tmp_path / "job"
        settings = {"SITECRAWL_ALLOW_PRIVATE": True, "SITECRAWL_PARSE_PROCESSES": 1}
        done = crawl(site.root, job, requisites=1, deny="/frame", **settings)
        assert done.returncode == 0, done.stderr
        names = ("theme.css", "more.css", "bg.png", "font.woff2", "logo.png")
        assert pages(job, "--kind", "requisite") == {f"{site.root}/frame", *(f"{there}/{name}" for name in names)}
        assert pages(job, "--kind", "page") == {f"{site.root}/"}
        assert "/never" not in site.paths()
        assert whole(job)
