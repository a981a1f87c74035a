"""Takes the pictures of the dashboard and the report that the documents show.

    python benchmarks/screenshots.py

Crawls the sites of `generated.py`, each under a name of its own, for `--seconds`; then takes the dashboard at the
width of a desk and of a phone, and the report that is made of the same crawl. Then it renders the sites of
`scriptsites.py` with `-a screenshots=1`, and takes what the two show of that. Needs Chromium and the extra `test`.
"""

from __future__ import annotations

import argparse
import html
import os
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT)]

from chromium import chromium  # noqa: E402 - the path comes first
from dashboards import Crawl  # noqa: E402
from generated import Site, sites  # noqa: E402
from localweb import Answer, LocalWeb  # noqa: E402
from playwright.sync_api import Browser, Page  # noqa: E402
from scriptsites import FEED, ROUTES, ScriptSites  # noqa: E402
from waiting import until  # noqa: E402

from sitecrawl.pagestore.reader import PageFilter, PageReader  # noqa: E402
from sitecrawl.plugins.report.gather import gather  # noqa: E402
from sitecrawl.plugins.report.render import render  # noqa: E402

HOSTS = (
    "news.example",
    "shop.example",
    "outlet.example",
    "talk.example",
    "forum.example",
    "wiki.example",
    "blog.example",
    "calendar.example",
    "archive.example",
    "links.example",
    "museum.example",
    "maze.example",
)
DESK = 1280, 1400
PHONE = 390, 844
WIDE = 1120, 900
PICTURES = 6
"""Of pages, which the report then has."""


class Sites:
    """All generated sites behind one proxy; the front page of each links to the others."""

    def __init__(self, size: float) -> None:
        self._sites: dict[str, Site] = dict(zip(HOSTS, sites(size), strict=False))

    @property
    def seeds(self) -> str:
        return ",".join(f"http://{host}/" for host in self._sites)

    def __call__(self, path: str, host: str) -> Answer | str | None:
        address = urlsplit(path)
        site = self._sites.get(address.netloc)
        local = address.path + (f"?{address.query}" if address.query else "")
        if site is None or local in {"/robots.txt", "/favicon.ico"}:
            return None
        time.sleep(0.004 + 0.02 * (hash(address.netloc) % 4) / 4)
        try:
            page = site.page(local)
        except (LookupError, ValueError):
            return None
        links = [link.path for link in page.links]
        if local == "/":
            links += [f"http://{name}/" for name in self._sites] + ["/impressum", "/team/gone"]
        robots = '<meta name="robots" content="noindex">' if page.noindex else ""
        anchors = "".join(f'<a href="{html.escape(link)}">{html.escape(link)}</a> ' for link in links)
        body = (
            f"<!doctype html><title>{html.escape(page.title)}</title>{robots}<p>{html.escape(page.text)}</p>{anchors}"
        )
        return Answer(body.encode(), page.status, {"Content-Type": "text/html"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=75.0)
    parser.add_argument("--output", type=Path, default=ROOT / "docs", metavar="DIR")
    options = parser.parse_args()
    web = Sites(0.3)
    with tempfile.TemporaryDirectory() as directory, LocalWeb(web) as served, chromium() as browser:
        job = Path(directory) / "crawls" / "demo"
        job.parent.mkdir()  # its log stands beside it
        os.environ["http_proxy"] = served.root
        with Crawl(web.seeds, job, "-a", "scope=host", proxied=True) as crawl:
            page = opened(browser, crawl.url, DESK)
            time.sleep(options.seconds)
            dashboards(browser, page, crawl.url, options.output)
        (Path(directory) / "report.html").write_text(render(gather(job)), encoding="utf-8")
        report = opened(browser, (Path(directory) / "report.html").as_uri(), DESK)
        report.screenshot(path=options.output / "report.png")
        rendered(browser, Path(directory), options.output)


def rendered(browser: Browser, directory: Path, output: Path) -> None:
    """Pictures of pages in the report."""
    job = directory / "crawls" / "rendered"
    words = ("-a", "render=1", "-a", "screenshots=1")
    patient = {"DOWNLOAD_DELAY": 3, "SITECRAWL_RENDER_WAIT": 45}
    with LocalWeb({}) as nothing, ScriptSites(nothing.port, directory) as sites:
        os.environ |= {"http_proxy": sites.root, "https_proxy": sites.root, "no_proxy": "127.0.0.1"}
        with Crawl(f"https://{FEED}/,https://{ROUTES}/", job, *words, proxied=True, **patient):
            until(lambda: len(_pictures(job)) >= PICTURES, "pictures of pages", 240)
    (directory / "rendered.html").write_text(render(gather(job)), encoding="utf-8")
    report = opened(browser, (directory / "rendered.html").as_uri(), WIDE)
    report.locator("#pictures").screenshot(path=output / "report-rendered.png")


def _pictures(job: Path) -> list[str]:
    """The pages of which one is stored."""
    if not (job / "pages.sqlite").exists():
        return []
    with PageReader(job) as reader:
        return [one.url.removeprefix("urn:view:") for one in reader.pages(PageFilter(kind="view"))]


def opened(browser: Browser, url: str, size: tuple[int, int], *, dark: bool = False, scale: float = 1.0) -> Page:
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if dark else "light",
        device_scale_factor=scale,
    )
    page = context.new_page()
    page.goto(url)
    return page


def dashboards(browser: Browser, page: Page, url: str, output: Path) -> None:
    page.get_by_role("region", name="Held back").wait_for()
    page.screenshot(path=output / "dashboard.png")
    phone = opened(browser, url, PHONE, dark=True, scale=1.5)
    phone.locator("tbody tr").first.wait_for()
    phone.screenshot(path=output / "dashboard-phone.png")


if __name__ == "__main__":
    main()
