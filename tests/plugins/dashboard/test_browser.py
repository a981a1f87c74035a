"""The dashboard in a real browser: watched, used, attacked, read by keyboard, on a phone, in the dark."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from chromium import CONTRASTS, Watched, chromium
from crawling import stats_of
from dashboards import Crawl
from localweb import Answer, LocalWeb, linked
from playwright.sync_api import Browser, Page, expect
from waiting import PATIENCE, until

pytestmark = pytest.mark.deep

HOSTILE = '<img src=x onerror="window.owned=1"><script>window.owned=2</script>{{7*7}}\u202e&lt;b&gt;\'"'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        context.set_default_timeout(1000 * PATIENCE)
        yield context.new_page()


ENDLESS = 20_000
"""Pages that no crawl here comes to the end of, however long the browser takes for a step of a test."""


def site(pages: int = ENDLESS, seconds: float = 0.03) -> LocalWeb:
    """A front page that links to two sections, each page of which takes a while."""

    def answer(path: str, host: str) -> Answer | str | None:
        if path == "/":
            return linked("/gone", *(f"/w/{n}" for n in range(pages)), *(f"/good/{n}" for n in range(pages)))
        time.sleep(seconds)
        return linked("/", title=path) if path.rpartition("/")[2].isdigit() else None

    return LocalWeb(answer)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """A crawl that does not end."""
    with site() as web, Crawl(web.root, tmp_path_factory.mktemp("crawl") / "job") as crawl:
        until(lambda: crawl.figures()["fetched"] > 3, "some pages")
        yield crawl


def number(page: Page, tile: str) -> int:
    """What a tile says."""
    text = (
        page.locator(".tile", has=page.locator("dt", has_text=re.compile(f"^{tile}$")))
        .locator("dd")
        .first.inner_text()
    )
    return int(text.replace(",", ""))


def confirm(page: Page) -> None:
    expect(page.locator("#ask")).to_be_visible()
    page.click("#ask-yes")
    expect(page.locator("#ask")).to_be_hidden()


class TestLive:
    def test_a_crawl_from_beginning_to_end(self, page: Page, tmp_path: Path) -> None:
        """It is watched, paused, a section is blocked and set free again, it is stopped, and says so; the last
        figures are those of the statistics.
        """
        with site() as web, Crawl(web.root, tmp_path / "job") as crawl:
            watched = Watched(page)
            page.goto(crawl.url)
            expect(page.locator("#state")).to_have_text("running")
            expect(page.locator("#spider")).to_have_text("generic")
            until(lambda: number(page, "Fetched") > 2, "some pages on the tile")

            page.click("#pause")
            confirm(page)
            expect(page.locator("#state")).to_have_text("paused")
            page.get_by_role("button", name=re.compile(r"^Block ")).click()
            confirm(page)
            expect(page.get_by_role("region", name="Held back")).to_contain_text("blocked by hand at fetch")
            page.get_by_role("region", name="Held back").get_by_role("button", name=re.compile(r"^Set free ")).click()
            confirm(page)
            expect(page.get_by_role("region", name="Held back")).to_have_count(0)
            page.click("#pause")
            confirm(page)
            expect(page.locator("#state")).to_have_text("running")
            asked = len(web.hits)
            until(lambda: len(web.hits) > asked + 15, "requests after the pause")
            page.click("#stop")
            confirm(page)
            expect(page.locator("#state")).to_have_text("ended")
            expect(page.locator("#notice")).to_contain_text("The crawl was stopped by hand, from its dashboard.")
            assert crawl.end() == 0
            stats = stats_of(crawl.log)
            fetched = stats["downloader/response_count"] - stats["robotstxt/response_count"]
            assert number(page, "Fetched") == fetched
            assert number(page, "Errors") == stats["downloader/response_status_count/404"] - 1  # robots.txt is none
            assert page.locator("#pause").is_disabled()
            origin = "{0.scheme}://{0.netloc}/".format(urlsplit(crawl.url))
            assert [url for url in watched.asked if not url.startswith((origin, "data:"))] == []
            assert watched.wrong == []

    def test_seeds_and_a_crawl_that_is_killed(self, page: Page, tmp_path: Path) -> None:
        """What is wrong with seeds is said, those that are right are fetched. When the crawl is gone, so is said, and
        the last figures stay.
        """
        with site() as web, LocalWeb({"/": "<p>"}) as other, Crawl(web.root, tmp_path / "job") as crawl:
            page.goto(crawl.url)
            page.click("#seed")
            page.fill("#seeds", "mailto:nobody@example.com")
            page.click("#ask-yes")
            expect(page.locator("#ask-wrong")).to_contain_text("mailto:nobody@example.com")
            page.fill("#seeds", other.root)
            confirm(page)
            until(lambda: "/" in other.paths(), "the seed is fetched")
            page.click("#stop")
            page.click("#ask-no")
            expect(page.locator("#state")).to_have_text("running")
            until(lambda: number(page, "Fetched") > 2, "some pages on the tile")
            crawl.process.kill()
            expect(page.locator("#state")).to_have_text("connection lost")
            assert number(page, "Fetched") > 2


class TestForEverybody:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_contrast(self, browser: Browser, crawl: Crawl, scheme: Any) -> None:
        """All text can be read."""
        with browser.new_context(color_scheme=scheme) as context:
            page = context.new_page()
            page.goto(crawl.url)
            expect(page.locator("tbody tr").first).to_be_visible()
            assert page.evaluate(CONTRASTS) == []

    def test_names(self, page: Page, crawl: Crawl) -> None:
        """Everything that can be used has a name; ids are there once; tables have heads."""
        page.goto(crawl.url)
        expect(page.locator("tbody tr").first).to_be_visible()
        wrong = page.evaluate("""() => {
            const bad = [...document.querySelectorAll("button, input, textarea, [role=img], [role=region], dialog")]
              .filter((n) => n.checkVisibility())
              .filter((n) => !(n.innerText || n.ariaLabel || n.getAttribute("aria-labelledby")));
            const ids = [...document.querySelectorAll("[id]")].map((n) => n.id);
            const twice = ids.filter((id, n) => ids.indexOf(id) !== n);
            const heads = [...document.querySelectorAll("th")].filter((n) => !n.scope);
            return [bad.length, twice, heads.length, document.documentElement.lang];
        }""")
        assert wrong == [0, [], 0, "en"]

    def test_keyboard(self, page: Page, crawl: Crawl) -> None:
        """A question by Enter and Escape, the focus back where it was, also when tables are drawn anew."""
        page.goto(crawl.url)
        page.locator("#stop:enabled").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#ask-yes")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#ask")).to_be_hidden()
        expect(page.locator("#stop")).to_be_focused()
        button = page.get_by_role("button", name=re.compile(r"^Block "))
        button.focus()
        before = page.locator("tbody").first.element_handle()
        page.wait_for_function("(old) => !old.isConnected", arg=before)
        expect(button).to_be_focused()

    def test_on_a_phone(self, browser: Browser, crawl: Crawl) -> None:
        """The page is as wide as the screen; only tables are moved sideways."""
        with browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True) as context:
            page = context.new_page()
            page.goto(crawl.url)
            expect(page.locator("tbody tr").first).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") <= 360
            heights = "[...document.querySelectorAll('button')].map((n) => n.offsetHeight)"
            assert [height for height in page.evaluate(heights) if 0 < height < 24] == []


def poisoned(value: Any) -> Any:
    """Every text with markup behind it."""
    if isinstance(value, dict):
        return {name: poisoned(one) for name, one in value.items()}
    if isinstance(value, list):
        return [poisoned(one) for one in value]
    return value + HOSTILE if isinstance(value, str) else value


ROWS: dict[str, Any] = {
    "hosts": [{"host": "h", "waiting": 1, "known": 2, "fetched": 3, "good": 4, "next": 1.5, "state": "resting",
               "failures": 1, "ip": "1", "demoted": True, "reason": "r", "said_no": "s"}],
    "held": [{"host": "h", "shape": "/s", "name": "h/s", "waiting": 1, "known": 2, "fetched": 3, "good": 4,
              "novelty": 1, "demoted": True, "reason": "r", "fetched_urls": [{"url": "http://a.example/?"}],
              "waiting_urls": ["http://a.example/?", "javascript:window.owned=3//"]}],
    "errors": [{"kind": "404", "count": 2, "examples": [
        {"url": "javascript:window.owned=4//", "at": 1.0, "referrer": "http://a.example/?"}]}],
}  # fmt: skip


class TestHostile:
    def test_markup_in_every_text(self, page: Page, crawl: Crawl) -> None:
        """Whatever text the crawl sends, it is shown as text: nothing runs, is drawn or asked for."""
        overview = crawl.json("overview")
        (worker,) = overview["workers"]
        worker |= {name: worker[name] + HOSTILE for name in ("id", "spider", "directory", "order")}
        worker |= {"state": "ended", "ending": f"ended {HOSTILE}"}
        told = {"workers": [worker], "history": overview["history"], **poisoned(ROWS)}
        watched = Watched(page)
        page.route(re.compile(r"/overview$"), lambda route: route.fulfill(json=told))
        page.goto(crawl.url)
        expect(page.locator("#notice")).to_contain_text("<script>window.owned=2</script>")
        tables = page.locator("#tables")
        expect(tables).to_contain_text("<script>window.owned=2</script>")
        text = tables.inner_text()
        assert "\\u202e" in text
        assert "\u202e" not in text
        assert page.locator("img, script:not([src]), iframe, b").count() == 0
        assert [
            a for a in page.locator("#tables a").all() if not str(a.get_attribute("href")).startswith("http")
        ] == []
        assert page.evaluate("window.owned") is None
        assert watched.wrong == []

    def test_lines_of_what_was(self, page: Page, crawl: Crawl) -> None:
        """Pages a second and URLs that wait, with a gap where the crawl did not run."""
        overview = crawl.json("overview")
        overview["history"] = {
            "t": [10, 11, 12, 20, 21],
            "fetched": [0, 4, 6, None, 6],
            "waiting": [8, 4, 2, None, 2],
        }
        page.route(re.compile(r"/overview$"), lambda route: route.fulfill(json=overview))
        page.goto(crawl.url)
        expect(page.locator("#charts figcaption")).to_have_text(
            ["Pages a second: 2 now, at most 4 in 10 s", "URLs waiting: 2 now, at most 8 in 11 s"]
        )
        lines = [line.get_attribute("d") for line in page.locator("#charts path").all()]
        assert lines == ["M0.00 0.00L10.00 50.00", "M0.00 0.00L9.09 50.00L18.18 75.00M100.00 75.00"]

    def test_markup_in_what_is_lacking(self, page: Page, crawl: Crawl) -> None:
        """While the crawl pauses by itself, why it does stands there as text, and since when."""
        overview = crawl.json("overview")
        (worker,) = overview["workers"]
        worker |= {"state": "running", "ending": "", "lacking": {"why": HOSTILE, "since": 1_800_000_000.0}}
        page.route(re.compile(r"/overview$"), lambda route: route.fulfill(json=overview))
        page.goto(crawl.url)
        notice = page.locator("#notice")
        expect(notice).to_contain_text(re.compile(r"pauses by itself since \d\d:\d\d:\d\d: .*<script>window.owned=2"))
        assert page.evaluate("window.owned") is None

    def test_a_hostile_site(self, page: Page, tmp_path: Path) -> None:
        """URLs and titles of a real site that are full of markup: nothing of it is alive."""
        path = "/x?<img src=x onerror=alert(1)>&'\"<svg/onload=alert(2)>=1"
        title = html.escape("</title><script>alert(3)</script>")
        links = [path.replace('"', "&quot;"), *(f"/{n}?<script>alert(6)</script>" for n in range(ENDLESS))]
        front = Answer(linked(*links, title=title).encode(), 200, {"Content-Type": "text/html"})
        missing = Answer(f"<title>{title}</title>".encode(), 404)
        served = LocalWeb(lambda p, host: front if p == "/" else missing)
        with served as web, Crawl(web.root, tmp_path / "job", DOWNLOAD_DELAY=0.1) as crawl:
            watched = Watched(page)
            page.goto(crawl.url)
            expect(page.get_by_role("region", name="Errors")).to_contain_text("404")
            assert page.locator("img, script:not([src]), svg").count() == 0
            assert watched.wrong == []
