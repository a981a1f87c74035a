"""The dashboard in a real browser: watched, used, attacked, read by keyboard, on a phone, in the dark."""

from __future__ import annotations

import html
import json
import re
import threading
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
from playwright.sync_api import Browser, Page, Route, expect
from waiting import PATIENCE, until

pytestmark = pytest.mark.deep

TABS = ("hosts", "sections", "held", "errors", "fetches", "why", "changes", "engine")
HOSTILE = '<img src=x onerror="window.owned=1"><script>window.owned=2</script>{{7*7}}\u202e&lt;b&gt;\'"'
NOTICES = """
window.notices = [];
document.addEventListener("DOMContentLoaded", () => {
  const notice = document.getElementById("notice");
  new MutationObserver(() => window.notices.push(notice.textContent)).observe(notice, { childList: true });
});
"""
"""Remembers what the page tells."""


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


def confirm(page: Page, button: str) -> None:
    expect(page.locator("#ask")).to_be_visible()
    assert page.locator("#ask-yes").inner_text() == button
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
            expect(page.locator("#chart-speed canvas")).to_be_visible()

            page.click("#pause")
            confirm(page, "Pause")
            expect(page.locator("#state")).to_have_text("paused")
            page.click("#tab-sections")
            page.get_by_role("button", name=re.compile(r"^Block .*\Ww\W\*$")).click()
            confirm(page, "Block")
            page.click("#pause")
            confirm(page, "Resume")
            expect(page.locator("#state")).to_have_text("running")
            asked = len(web.hits)
            until(lambda: len(web.hits) > asked + 15, "requests after the pause")
            assert not [path for path in web.paths()[asked + 1 :] if path.startswith("/w/")]
            until(  # as of a checkpoint
                lambda: crawl.json(f"why?url={web.root}/w/299")["verdict"] == "blocked", "an answer that says so"
            )

            page.click("#tab-held")
            expect(page.locator(".reason")).to_contain_text("blocked by hand at fetch")
            page.get_by_role("button", name=re.compile(r"^Set free .*\Ww\W\*$")).click()
            confirm(page, "Set free")
            expect(page.locator("#panel")).to_contain_text("Nothing is held back")
            asked = len(web.hits)
            until(
                lambda: len([path for path in web.paths()[asked:] if path.startswith("/w/")]) > 5,
                "requests of the section that was set free",
            )

            page.click("#stop")
            confirm(page, "Stop")
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
            confirm(page, "Add")
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
        """All text can be read, on every tab."""
        with browser.new_context(color_scheme=scheme) as context:
            page = context.new_page()
            page.goto(crawl.url)
            for tab in TABS:
                page.click(f"#tab-{tab}")
                page.locator("#panel :not([aria-busy]) > :not(.quiet)").first.wait_for()
                assert page.evaluate(CONTRASTS) == [], tab

    def test_names(self, page: Page, crawl: Crawl) -> None:
        """Everything that can be used or is a picture has a name; ids are there once; tables have heads."""
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
        """Tabs by the arrows, a question by Enter and Escape, the focus back where it was."""
        page.goto(crawl.url)
        page.focus("#tab-hosts")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#tab-sections")).to_be_focused()
        expect(page.locator("#tab-sections")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#tab-engine")).to_be_focused()
        page.keyboard.press("Home")
        expect(page.locator("#tab-hosts")).to_be_focused()
        page.focus("#stop")
        page.keyboard.press("Enter")
        expect(page.locator("#ask-yes")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator("#ask")).to_be_hidden()
        expect(page.locator("#stop")).to_be_focused()

    def test_change_by_keyboard(self, page: Page, crawl: Crawl) -> None:
        """What holds for a host is asked for, filled in and changed; what is wrong is said, and the list has it."""
        page.goto(f"{crawl.url}#changes")
        page.locator("#terms:enabled").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#terms-host")).to_be_focused()
        expect(page.locator("#terms-option option")).to_have_text(
            ["delay", "max_pages", "max_depth", "scope", "allow", "deny"]
        )
        page.select_option("#terms-option", "scope")
        expect(page.locator("#terms-value")).to_have_value("site")
        expect(page.locator("#terms-value option")).to_have_count(4)
        page.select_option("#terms-option", "delay")
        page.focus("#terms-host")
        page.keyboard.type("<b>no</b>.example")
        page.fill("#terms-value", "1")
        page.click("#ask-yes")
        expect(page.locator("#ask-wrong")).to_contain_text("is no name of hosts")
        page.fill("#terms-host", "no.example")
        page.press("#terms-host", "Tab")
        expect(page.locator("#terms-option option")).to_have_count(6)
        page.select_option("#terms-option", "allow")
        page.fill("#terms-value", "(")
        page.click("#ask-yes")
        expect(page.locator("#ask-wrong")).to_contain_text("no regular expression")
        page.fill("#terms-value", "/<i>a</i>\n/b")
        confirm(page, "Change")
        row = page.locator("#panel tbody tr").first
        expect(row).to_contain_text("no.example")
        expect(row).to_contain_text("/<i>a</i> | /b")
        page.click("#terms")
        page.fill("#terms-host", "no.example")
        page.press("#terms-host", "Tab")
        page.select_option("#terms-option", "allow")
        expect(page.locator("#terms-value")).to_have_value("/<i>a</i>\n/b")
        page.check("#terms-reset")
        expect(page.locator("#terms-value")).to_be_disabled()
        confirm(page, "Change")
        expect(row).to_contain_text("nothing")

    def test_what_is_typed_stays(self, page: Page, crawl: Crawl) -> None:
        """What holds for a host is told late: nothing is sent before, and what was filled in meanwhile stays."""
        held: list[Route] = []
        sent: list[str] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.goto(f"{crawl.url}#changes")
        page.click("#terms")
        expect(page.locator("#terms-host")).to_be_focused()
        page.route(re.compile(r"/terms\?"), hold)
        page.on("request", lambda request: sent.append(request.url))
        page.fill("#terms-host", "late.example")
        with page.expect_request(re.compile(r"/terms\?")):
            page.press("#terms-host", "Tab")
        page.select_option("#terms-option", "deny")
        page.fill("#terms-value", "(")
        page.click("#ask-yes")
        expect(page.locator("#ask-yes")).to_be_disabled()
        assert not [url for url in sent if "/act/" in url]
        held[0].fulfill(json={"values": {"deny": [], "delay": 1}, "choices": {}})
        expect(page.locator("#terms-option option")).to_have_text(["deny", "delay"])
        expect(page.locator("#terms-value")).to_have_value("(")
        expect(page.locator("#ask-wrong")).to_contain_text("no regular expression")

    def test_the_focus_stays(self, page: Page, crawl: Crawl) -> None:
        """When a table is drawn anew, who stands on a button stays there."""
        page.goto(f"{crawl.url}#sections")
        button = page.get_by_role("button", name=re.compile(r"^Block .*\Ww\W\*$"))
        button.focus()
        before = page.locator("tbody").element_handle()
        page.evaluate("document.querySelector('th button').click()")
        page.wait_for_function("(old) => !old.isConnected", arg=before)
        expect(button).to_be_focused()

    def test_on_a_phone(self, browser: Browser, crawl: Crawl) -> None:
        """The page is as wide as the screen; only tables are moved sideways."""
        with browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True) as context:
            page = context.new_page()
            page.goto(crawl.url)
            for tab in TABS:
                page.click(f"#tab-{tab}")
                page.locator("#panel :not([aria-busy]) > :not(.quiet)").first.wait_for()
                assert page.evaluate("document.documentElement.scrollWidth") <= 360, tab
                heights = "[...document.querySelectorAll('button:not(th *)')].map((n) => n.offsetHeight)"
                assert [height for height in page.evaluate(heights) if 0 < height < 24] == [], tab

    def test_a_crawl_that_just_began(self, page: Page, tmp_path: Path) -> None:
        """Nothing is known yet: the page says so, instead of showing nothing."""
        seen = threading.Event()

        def answer(path: str, host: str) -> str:
            seen.wait(PATIENCE)
            return "<p>"

        with LocalWeb(answer) as web, Crawl(web.root, tmp_path / "job") as crawl:
            page.goto(crawl.url)
            expect(page.locator("#chart-speed .plot")).to_have_class("plot empty")
            page.click("#tab-errors")
            expect(page.locator("#panel")).to_contain_text("Nothing went wrong")
            seen.set()


def poisoned(value: Any) -> Any:
    """Every text with markup behind it."""
    if isinstance(value, dict):
        return {
            poisoned(name) if name in {"404", "timed out"} else name: poisoned(one) for name, one in value.items()
        }
    if isinstance(value, list):
        return [poisoned(one) for one in value]
    return value + HOSTILE if isinstance(value, str) else value


ROWS: dict[str, Any] = {
    "hosts": {
        "total": 1, "offset": 0, "cost": 0.1,
        "rows": [{"host": "h", "waiting": 1, "known": 2, "fetched": 3, "good": 4, "sections": 1,
                  "active": 0, "next": 1.5, "state": "resting", "failures": 1, "crawl_delay": 1, "ip": "1",
                  "trust": 0, "demoted": True, "blocked": False, "vouched": False, "since": 1, "reason": "r"}],
    },
    "sections": {
        "total": 1, "offset": 0, "cost": 0.1,
        "rows": [{"host": "h", "shape": "/s", "waiting": 1, "known": 2, "fetched": 3, "good": 4, "novelty": 1,
                  "demoted": True, "reason": "r", "blocked": True, "vouched": False, "since": 1,
                  "fetched_urls": [{"url": "http://a.example/?", "status": 200, "good": False}],
                  "waiting_urls": ["http://a.example/?", "javascript:window.owned=3//"]}],
    },
    "errors": {"total": 1, "rows": [{"kind": "404", "count": 2, "examples": [
        {"url": "javascript:window.owned=4//", "at": 1.0, "referrer": "http://a.example/?"}]}]},
    "fetches": {
        "total": 1,
        "rows": [{"url": "javascript:window.owned=5//", "at": 1.0, "status": 0, "why": "w", "seconds": 1.0,
                  "size": 1, "type": "t", "good": True}],
    },
}  # fmt: skip


class TestHostile:
    def test_markup_in_every_text(self, page: Page, crawl: Crawl) -> None:
        """Whatever text the crawl sends, it is shown as text: nothing runs, is drawn or asked for."""
        overview = crawl.json("overview")
        (worker,) = overview["workers"]
        worker["figures"] |= {"failures": {"timed out": 1}, "sitemaps": {"timed out": 1}, "statuses": {"404": 2}}
        worker |= {name: worker[name] + HOSTILE for name in ("id", "spider", "directory", "order")}
        worker["figures"] = poisoned(worker["figures"])
        ended = {"workers": [worker | {"state": "ended", "ending": f"ended {HOSTILE}"}]}
        events = "".join(
            f"event: {name}\ndata: {json.dumps(value)}\n\n"
            for name, value in (("overview", overview), ("ended", ended))
        )

        def answer(route: Route) -> None:
            table = urlsplit(route.request.url).path.rpartition("/")[2]
            if table == "stream":
                route.fulfill(content_type="text/event-stream", body=events)
            else:
                route.fulfill(json=poisoned(ROWS[table]))

        watched = Watched(page)
        for table in ("stream", *ROWS):
            page.route(re.compile(rf"/{table}(\?|$)"), answer)
        page.goto(crawl.url)
        expect(page.locator("#notice")).to_contain_text("<script>window.owned=2</script>")
        for tab in TABS:
            page.click(f"#tab-{tab}")
            assert page.locator("img, script:not([src]), iframe, b:not(.legend b)").count() == 0
        assert page.evaluate("window.owned") is None
        assert watched.wrong == []

    def test_markup_in_what_is_lacking(self, page: Page, crawl: Crawl) -> None:
        """While the crawl pauses by itself, why it does stands there as text, and since when."""
        overview = crawl.json("overview")
        (worker,) = overview["workers"]
        worker |= {"state": "running", "ending": "", "lacking": {"why": HOSTILE, "since": 1_800_000_000.0}}
        body = f"event: overview\ndata: {json.dumps(overview)}\n\n"
        page.route(re.compile(r"/stream$"), lambda route: route.fulfill(content_type="text/event-stream", body=body))
        page.add_init_script(NOTICES)  # the stream ends, and that is told next
        page.goto(crawl.url)
        until(lambda: "pauses by itself" in str(page.evaluate("window.notices")), "the notice")
        (notice,) = {text for text in page.evaluate("window.notices") if "pauses by itself" in text}
        assert re.match(r"Since \d\d:\d\d:\d\d the crawl pauses by itself: .*<script>window.owned=2</script>", notice)
        assert page.evaluate("window.owned") is None

    @pytest.mark.parametrize("tab", ["hosts", "sections", "errors", "fetches"])
    def test_markup_in_tables(self, page: Page, crawl: Crawl, tab: str) -> None:
        """It stands there to be read, what turns the writing direction is written out; no link leads to a script."""
        watched = Watched(page)
        page.route(re.compile(rf"/{tab}(\?|$)"), lambda route: route.fulfill(json=poisoned(ROWS[tab])))
        page.goto(f"{crawl.url}#{tab}")
        panel = page.locator("#panel")
        expect(panel).to_contain_text("<script>window.owned=2</script>")
        text = panel.inner_text()
        assert "\\u202e" in text
        assert "\u202e" not in text
        assert page.locator("img, script:not([src])").count() == 0
        assert [a for a in page.locator("a.url").all() if not str(a.get_attribute("href")).startswith("http")] == []
        assert page.evaluate("window.owned") is None
        assert watched.wrong == []

    def test_a_hostile_site(self, page: Page, tmp_path: Path) -> None:
        """URLs, titles and headers of a real site that are full of markup: on every tab nothing of it is alive."""
        path = "/x?<img src=x onerror=alert(1)>&'\"<svg/onload=alert(2)>=1"
        title = html.escape("</title><script>alert(3)</script>")
        links = [path.replace('"', "&quot;"), *(f"/{n}?<script>alert(6)</script>" for n in range(ENDLESS))]
        pages = {
            "/": Answer(
                linked(*links, title=title).encode(),
                200,
                {
                    "Content-Type": "text/html; charset=<script>alert(4)</script>",
                    "X-Note": "<script>alert(5)</script>",
                },
            )
        }
        served = LocalWeb(lambda p, host: pages.get(p, Answer(f"<title>{title}</title>".encode(), 404)))
        with served as web, Crawl(web.root, tmp_path / "job", DOWNLOAD_DELAY=0.1) as crawl:
            watched = Watched(page)
            page.goto(crawl.url)
            until(lambda: crawl.json("errors")["rows"], "an error")
            for tab in TABS:
                page.click(f"#tab-{tab}")
                page.locator("#panel :not([aria-busy]) > :not(.quiet)").first.wait_for()
                assert page.locator("img, script:not([src]), #panel svg").count() == 0
            assert watched.wrong == []

    def test_markup_in_an_answer(self, page: Page, crawl: Crawl) -> None:
        """Of the answer for a URL, whatever it says, nothing is alive."""
        watched = Watched(page)
        answer = {
            "url": "javascript:window.owned=6//", "verdict": "v", "answer": "a", "known": True, "advice": "a",
            "evidence": {"b": "t", "last answer": "t"},
        }  # fmt: skip
        page.route(re.compile(r"/why\?"), lambda route: route.fulfill(json=poisoned(answer)))
        page.goto(f"{crawl.url}#why")
        page.get_by_role("searchbox").fill(HOSTILE)
        page.keyboard.press("Enter")
        panel = page.locator("#panel")
        expect(panel).to_contain_text("<script>window.owned=2</script>")
        assert "\u202e" not in panel.inner_text()
        assert page.locator("img, script:not([src]), a[href^=javascript]").count() == 0
        assert page.evaluate("window.owned") is None
        assert watched.wrong == []
