"""Does an archive replay? Real sites with their requisites, in pywb and Chromium, with no request to the sites.

    python benchmarks/replay.py --pywb build/pywb/bin
    python benchmarks/replay.py --pywb build/pywb/bin --picture docs/replay.png
    python benchmarks/replay.py --pywb build/pywb/bin --wacz build/wacz/bin
    python benchmarks/replay.py --pywb build/pywb/bin --wacz build/wacz/bin --render

Crawls two of the seven real sites, served by ../shared/tools/real_web.py, with `-a requisites=1`; gives pywb their
WARC files; and opens pages of both in a Chromium that reaches pywb alone. A line a site: pages, what the browser
asked for, what of it pywb did not have, and how much of that the site itself has: the same pages are opened live for
that. What the browser wants from any other place is stopped, and counted: the exit code is 1 if there was any. What
scripts alone ask for is in no archive that is made without a browser; it is printed. `--picture` keeps a picture of
one replayed page. With `--wacz` the crawl is exported as WACZ first, `wacz validate` looks at that, and pywb gets
what is in it, with its index.

With `--render` the crawl has `-a render=auto` as well, two sites that only scripts build are added
(`scriptsites.py`), there is a line a page, and the exit code is 1 as well if the archive lacks what a site has.

pywb needs an environment of its own: it asks for a redis-py of 2017. `wacz` has one, too.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha1
from itertools import zip_longest
from pathlib import Path
from time import monotonic
from urllib.parse import urlsplit
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "helpers"), str(ROOT)]

from chromium import chromium  # noqa: E402 - the path comes first
from crawling import scrapy_command  # noqa: E402
from playwright.sync_api import Browser, BrowserContext, Frame, Page, Request, Response, Route  # noqa: E402
from ports import held_port  # noqa: E402
from scriptsites import FEED, ROUTES, ScriptSites  # noqa: E402
from waiting import until  # noqa: E402

from sitecrawl.pagestore import Capture, PageReader  # noqa: E402

TOOL = ROOT.parent / "shared" / "tools" / "real_web.py"
SITES = ("www.starlette.io", "junit.org")
COLLECTION = "crawl"
HERE = "127.0.0.1"
_FRAME = "replay_iframe"
"""pywb's, in which the page is."""
_REWRITTEN = re.compile(rf"/{COLLECTION}/\d*(?:[a-z]+_)?/(?=https?://)")


def front(site: str) -> str:
    """The address of a site's first page."""
    return f"{'http' if site in SITES else 'https'}://{site}/"


@contextmanager
def running(command: list[str], port: int, cwd: Path) -> Iterator[None]:
    """A server on `port`, as long as the `with` lasts."""
    with (cwd / "log").open("ab") as log, subprocess.Popen(command, cwd=cwd, stdout=log, stderr=log) as process:
        try:
            until(lambda: is_open(port), lambda: f"{command[0]}: {(cwd / 'log').read_text()}")
            yield
        finally:
            process.terminate()


def is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex((HERE, port)) == 0


def crawl(directory: Path, proxy: str, sites: tuple[str, ...], pages: int, *, render: bool) -> list[Capture]:
    """Crawls the sites; gives those of their pages that are in the archive, in the order in which they came."""
    seeds = ",".join(map(front, sites))
    settings = {"JOBDIR": directory, "SITECRAWL_DELAY_FACTOR": 0, "LOG_LEVEL": "WARNING"}
    words: tuple[str, ...] = (
        "crawl",
        "generic",
        "-a",
        f"seeds={seeds}",
        "-a",
        "requisites=1",
        "-a",
        f"max_pages={pages}",
    )
    if render:
        words += ("-a", "render=auto")
    subprocess.run(
        scrapy_command(*words, settings=settings),
        cwd=ROOT,
        env={**os.environ, "http_proxy": proxy, "https_proxy": proxy},
        check=True,
    )
    with PageReader(directory) as reader:
        return [page for page in reader.pages() if page.status == 200 and page.content_type == "text/html"]


def as_wacz(crawled: Path, directory: Path, programs: Path) -> Path:
    """A crawl as one archive, which is valid."""
    target = directory / "crawl.wacz"
    subprocess.run(scrapy_command("export", "wacz", "-d", str(crawled), "-o", str(target)), cwd=ROOT, check=True)
    subprocess.run([programs / "wacz", "validate", "-f", target], check=True)
    return target


@contextmanager
def replaying(archives: list[str], directory: Path, programs: Path) -> Iterator[str]:
    """pywb with `archives`; gives the address of its collection."""
    for words in (["init", COLLECTION], ["add", COLLECTION, *archives]):
        subprocess.run([programs / "wb-manager", *words], cwd=directory, check=True, stderr=subprocess.DEVNULL)
    with (
        held_port() as port,
        running([str(programs / "wayback"), "-b", HERE, "-p", str(port)], port, directory),
    ):
        yield f"http://{HERE}:{port}/{COLLECTION}"


@dataclass
class Opened:
    """What a browser asked for when it opened a page, and which of that it was given."""

    url: str
    asked: set[str] = field(default_factory=set)
    had: set[str] = field(default_factory=set)
    elsewhere: set[str] = field(default_factory=set)
    """What it wanted from another place than the one it was to go to."""
    text: str = ""
    """What is to be read on it in the end."""

    @property
    def missing(self) -> set[str]:
        return self.asked - self.had


def original(request: Request) -> str:
    """What pywb was asked for. The query of a GET does not count: it may say when."""
    found = _REWRITTEN.search(request.url)
    parts = urlsplit(request.url[found.end() :] if found else request.url)
    address = f"{parts.scheme}://{parts.netloc}{parts.path}"
    if request.method == "GET":
        return address
    return f"{request.method} {address} {sha1(_without_boundary(request)).hexdigest()[:8]}"


def _without_boundary(request: Request) -> bytes:
    body = request.post_data_buffer or b""
    return re.sub(rb"-{4,}WebKitFormBoundary\w+", b"--", body)


def look(
    browser: Browser, pages: list[Capture], *, replay: str | None = None, proxy: str | None = None
) -> list[Opened]:
    """Open each page, as it was when it was stored in pywb at `replay` or live through `proxy`, until nothing more is
    asked for.
    """
    context = browser.new_context(
        proxy={"server": proxy, "bypass": "<-loopback>"} if proxy else None, ignore_https_errors=True
    )
    opened = [_opened(context, page, replay) for page in pages]
    context.close()
    return opened


def _opened(context: BrowserContext, of: Capture, replay: str | None) -> Opened:
    seen, page = Opened(of.url), context.new_page()

    def admit(route: Route, request: Request) -> None:
        if replay is not None and not request.url.startswith(replay.rsplit("/", 1)[0]):
            seen.elsewhere.add(request.url)
            route.abort()
            return
        if replay is None or _REWRITTEN.search(request.url):
            seen.asked.add(original(request))
        route.continue_()

    def answered(response: Response) -> None:
        if response.status < 400 and (replay is None or _REWRITTEN.search(response.url)):
            seen.had.add(original(response.request))

    context.unroute_all()
    context.route("**/*", admit)
    context.on("response", answered)  # also to a service worker
    page.goto(f"{replay}/{_time(of)}/{of.url}" if replay else of.url, wait_until="networkidle")
    frame = _shown(page) if replay else page.main_frame
    seen.text = " ".join(frame.inner_text(":root").split())
    page.close()
    context.remove_listener("response", answered)
    return seen


def _shown(page: Page) -> Frame:
    """The frame in which pywb has what is replayed, when nothing more is asked for in it."""
    deadline = monotonic() + 60
    while (frame := page.frame(_FRAME)) is None or not _REWRITTEN.search(frame.url):
        if monotonic() > deadline:
            sys.exit(f"pywb did not show {page.url}")
        page.wait_for_timeout(50)
    frame.wait_for_load_state("networkidle")
    return frame


def _time(page: Capture) -> str:
    """As the addresses of replay tools have it."""
    return f"{datetime.fromtimestamp(page.fetched, UTC):%Y%m%d%H%M%S}"


def compared(archived: list[Opened], live: list[Opened], proxy: str, *, each: bool) -> set[str]:
    """Says of a site how its replay went; gives what the archive lacks of what the site has."""
    asked, missing, elsewhere = (
        set().union(*(getattr(page, name) for page in archived)) for name in ("asked", "missing", "elsewhere")
    )
    had = set().union(*(page.had for page in live))
    lost = {address for address in missing if address in had or has(address, proxy)}
    if each:
        for page, site in zip(archived, live, strict=True):
            same = "as on the site" if page.text == site.text else differing(page.text, site.text)
            print(f"  {page.url}: {len(page.asked)} asked for, {len(page.missing)} missing, {same}")
            for address in sorted(page.missing):
                print(f"      {address}{'' if address in lost else ' (nor on the site)'}")
    alike = sum(page.text == site.text for page, site in zip(archived, live, strict=True))
    print(
        f"{urlsplit(archived[0].url).hostname}: {len(archived)} pages, {len(asked)} addresses asked for, "
        f"{len(missing)} not in the archive, {len(lost)} of which the site has; "
        f"{len(elsewhere)} asked of another place; {alike} pages read as on the site"
    )
    for address in sorted(lost | elsewhere):
        print(f"    {address}")
    return lost


def differing(here: str, there: str) -> str:
    """Where two texts part."""
    pairs = enumerate(zip_longest(here, there))
    at = next(place for place, (one, other) in pairs if one != other)
    return f"not as on the site: {here[at : at + 40]!r}, and there {there[at : at + 40]!r}"


def has(address: str, proxy: str) -> bool:
    """Whether a site has what a browser may have asked for where nobody could see it, as for a service worker."""
    trusting = HTTPSHandler(context=ssl._create_unverified_context())  # noqa: SLF001 - it is on this machine
    opener = build_opener(ProxyHandler({"http": proxy, "https": proxy}), trusting)
    try:
        with opener.open(address, timeout=30) as answer:
            return int(answer.status) < 400
    except (OSError, ValueError):  # ValueError: it was posted
        return False


def picture(browser: Browser, replay: str, url: str, path: Path) -> None:
    """Of the page in pywb's own frame."""
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    page.goto(f"{replay}/{url}", wait_until="networkidle")
    page.screenshot(path=path)
    page.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pywb", type=Path, required=True, help="the folder with wb-manager and wayback")
    parser.add_argument("--wacz", type=Path, help="the folder with wacz: replay the crawl as one file")
    parser.add_argument("--render", action="store_true", help="crawl with render=auto, sites of scripts as well")
    parser.add_argument("--pages", type=int, default=120, help="pages that are crawled")
    parser.add_argument("--opened", type=int, default=40, help="pages of each site that are opened")
    parser.add_argument("--picture", type=Path, help="where the picture goes")
    options = parser.parse_args()
    if not TOOL.exists():
        parser.error(f"{TOOL} serves the real sites, and is not there")
    sound = True
    sites = (*SITES, FEED, ROUTES) if options.render else SITES
    with tempfile.TemporaryDirectory(prefix="replay-") as name, held_port() as port:
        work = Path(name)
        for folder in ("web", "pywb"):
            (work / folder).mkdir()
        real = running([sys.executable, str(TOOL), str(port), str(work / "sites")], port, work / "web")
        with real, ScriptSites(port, work) as web:
            stored = crawl(work / "job", web.root, sites, options.pages, render=options.render)
            if options.wacz:
                archives = ["--unpack-wacz", str(as_wacz(work / "job", work, options.wacz.resolve()))]
            else:
                archives = [str(file) for file in sorted((work / "job" / "warc").glob("*.warc.gz"))]
            with replaying(archives, work / "pywb", options.pywb.resolve()) as replay, chromium() as browser:
                for site in sites:
                    pages = [page for page in stored if urlsplit(page.url).hostname == site][: options.opened]
                    if not pages:
                        print(f"{site}: no page")
                        sound = False
                        continue
                    archived, live = look(browser, pages, replay=replay), look(browser, pages, proxy=web.root)
                    lost = compared(archived, live, web.root, each=options.render)
                    sound &= not any(page.elsewhere for page in archived) and not (options.render and lost)
                if options.picture:
                    picture(browser, replay, front(sites[-1 if options.render else 0]), options.picture)
        shutil.rmtree(work / "sites")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
