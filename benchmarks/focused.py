"""How many pages about a topic does a crawl bring in, and how soon?

    python benchmarks/focused.py --cache /tmp/real-sites

Replays the seven real sites of ../shared/data/sites through the real frontier, as one web with seven seeds: best
first by relevance (the spider `focused`), breadth first, and by credit. A page is about a topic if its title or a
heading says the topic's words: the spider does not know that, it looks at text, links and URLs. Prints harvest rates,
relevant pages for every page that was fetched, after 50, 100, 200 and 500 fetches.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from replaying import COMMIT_EVERY, replayed

from sitecrawl.frontier.urls.options import FrontierOptions
from sitecrawl.frontier.urls.order import order_named
from sitecrawl.frontier.urls.record import UrlState
from sitecrawl.page.items import Link
from sitecrawl.page.links import read_page
from sitecrawl.page.text_lines import html_lines
from sitecrawl.plugins.focused.shark_search import SCALE, Focus
from sitecrawl.plugins.focused.topic import Topic
from sitecrawl.urls.url import parse as parse_url

TOOL = Path(__file__).resolve().parents[2] / "shared" / "tools" / "real_web.py"
SEEDS = (
    "http://junit.org/",
    "http://dataframes.juliadata.org/stable/",
    "http://crawler-commons.github.io/1.0/",
    "http://ericniebler.github.io/",
    "http://www.python-httpx.org/",
    "http://www.starlette.io/",
    "http://ada-url.github.io/",
)
HOSTS = tuple(url.split("/")[2] for url in SEEDS)
TOPICS = ("sitemap", "robots", "view", "rule", "theories", "runner", "iterator", "concepts")
MARKS = (50, 100, 200, 500)
_TITLES = re.compile(r"<(title|h[1-3])\b.*?</\1>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Page:
    """What a fetch brings."""

    status: int
    links: list[Link]
    text: str = ""
    titles: str = ""


def imported(path: Path) -> Any:
    """The module in a file that is on no path."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Sites:
    """The web, read from disk; parsed pages are kept."""

    def __init__(self, cache: Path, hosts: Sequence[str] = HOSTS) -> None:
        self._tool = imported(TOOL)
        self._tool.HOSTS = {host: folder for host, folder in self._tool.HOSTS.items() if host in hosts}
        self.seeds = [parse_url(url) for url in SEEDS if urlsplit(url).hostname in hosts]
        self._cache = cache
        self._tool.unpack(cache)
        self.page = lru_cache(maxsize=None)(self._page)

    def _page(self, url: str) -> Page:
        parts = urlsplit(url)
        if parts.hostname not in self._tool.HOSTS:
            return Page(404, [])
        root = self._cache / self._tool.HOSTS[parts.hostname]
        status, headers, body = self._tool.answer(root, parts.path + (f"?{parts.query}" if parts.query else ""))
        if status == 301:
            target = parse_url(urljoin(url, headers["Location"]))
            return Page(status, [Link(target.href, target.host)])
        page = read_page(url, body, [(b"content-type", headers.get("Content-Type", "").encode())])
        if status != 200 or page.charset is None:
            return Page(status, [])
        html = body.decode(page.charset, "replace")
        text = " ".join(line.text for line in html_lines(html)) if page.content_type == "text/html" else html
        titles = " ".join(match[0] for match in _TITLES.finditer(html[:20_000]))
        links = [link for link in page.links if link.host in self._tool.HOSTS]
        return Page(status, links, text, re.sub(r"<[^>]*>", " ", titles).casefold())


def about(topic: str) -> Callable[[Page], bool]:
    """Whether title and headings have all words of the topic, whole or with an ending."""
    stems = [word.removesuffix("s").removesuffix("ing") for word in topic.split()]
    return lambda page: all(re.search(rf"(?<![a-z]){stem}", page.titles) for stem in stems)


def crawl(sites: Sites, topic: str, policy: str, budget: int, threshold: float) -> list[bool]:
    """For every page that was fetched, whether it is about the topic."""
    is_about = about(topic)
    focus = Focus(Topic([topic]), threshold)
    order = order_named("bfs" if policy == "bfs" else "aopic")
    harvest: list[bool] = []
    with (
        tempfile.TemporaryDirectory(prefix="focused-") as directory,
        replayed(Path(directory) / "crawl", order, FrontierOptions()) as replay,
    ):
        frontier = replay.frontier
        frontier.add([replace(replay.found(seed.href), priority=2 * SCALE) for seed in sites.seeds], depth=0)
        while len(harvest) < budget and (visit := frontier.next()) is not None:
            page = sites.page(visit.url)
            frontier.downloaded(visit, 0.0)
            links = list(page.links)
            if policy == "focused" and page.status == 200:
                relevance = focus.page(visit.url, page.text)
                priorities = focus.promises(links, relevance, visit.priority)
            else:
                priorities = [visit.priority] * len(links)  # a redirect's target is as good
            found = [
                replace(replay.found(link.url, nofollow=link.nofollow), priority=priority)
                for link, priority in zip(links, priorities, strict=True)
            ]
            frontier.expand(visit, found)
            frontier.done(visit, UrlState.FETCHED, status=page.status, good=page.status == 200)
            if page.status == 200:
                harvest.append(is_about(page))
            if len(harvest) % COMMIT_EVERY == 0:
                replay.commit()
    return harvest


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "sitecrawl-real-web")
    parser.add_argument("--hosts", default=",".join(HOSTS), help="the sites, all by default")
    parser.add_argument("--topics", default=",".join(TOPICS))
    parser.add_argument("--policies", default="focused,bfs,aopic")
    parser.add_argument("--budget", type=int, default=MARKS[-1])
    parser.add_argument("--threshold", type=float, default=0.1)
    return parser.parse_args()


def main() -> None:
    arguments = parse()
    sites = Sites(arguments.cache, arguments.hosts.split(","))
    marks = [mark for mark in MARKS if mark <= arguments.budget] or [arguments.budget]
    print(f"| topic | order | {' | '.join(f'after {mark:,}' for mark in marks)} | relevant pages found |")
    print("|---|---|" + "---|" * (len(marks) + 1))
    for topic in arguments.topics.split(","):
        for policy in arguments.policies.split(","):
            harvest = crawl(sites, topic, policy, arguments.budget, arguments.threshold)
            rates = [f"{sum(harvest[:mark]) / max(1, min(mark, len(harvest))):.3f}" for mark in marks]
            print(f"| {topic} | {policy} | {' | '.join(rates)} | {sum(harvest):,} of {len(harvest):,} |", flush=True)


if __name__ == "__main__":
    main()
