"""Proxies and user agents in turns, as docs/refused.md has them: what holds whichever is taken."""

from __future__ import annotations

import base64
import json
import re
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from crawling import PROJECT, environment, forked, scrapy, states_of, stats_of, with_settings
from localweb import Answer, Hit, LocalWeb, Page, linked

from sitecrawl.frontier.urls.record import UrlState

pytestmark = pytest.mark.deep

PAGES = 10
AGENTS = ["sitecrawl-a (+https://example.org/bot)", "sitecrawl-b (+https://example.org/bot)"]
ROBOTS = "User-agent: sitecrawl\nDisallow: /7\n"


def behind(path: str, host: str) -> Page | None:
    """What a proxy answers for a host behind it: a front page that links to all others."""
    name = path.partition("//")[2].partition("/")[2]
    if name == "robots.txt":
        return ROBOTS
    return linked(*(f"/{n}" for n in range(1, PAGES))) if not name else f"page {name}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the document's middleware is."""
    blocks = re.findall(r"```python\n(.*?)```", (PROJECT / "docs" / "refused.md").read_text(), re.DOTALL)
    (code,) = [block for block in blocks if "class Rotation" in block]
    (tmp_path / "rotation.py").write_text(f"{code}\n\nrandom = random.Random(4)  # so that each is taken, always\n")
    return tmp_path


def crawl(folder: Path, proxies: list[str], **settings: object) -> str:
    """The log of a crawl of a host that only they can reach."""
    fixed = {
        "JOBDIR": folder / "job",
        "SITECRAWL_DELAY_FACTOR": 0,
        "STATS_DUMP": True,
        "LOG_LEVEL": "INFO",
        "DOWNLOADER_MIDDLEWARES": json.dumps({"rotation.Rotation": 90}),
        "ROTATION_PROXIES": ",".join(proxies),
        "ROTATION_USER_AGENTS": ",".join(AGENTS),
    }
    words = ("crawl", "generic", "-a", "seeds=http://a.example/")
    done = forked(*with_settings(*words, settings=fixed | settings), env=environment(PYTHONPATH=str(folder)))
    assert done.returncode == 0, done.stderr
    return done.stderr.decode()


def secret(name: str) -> str:
    return "Basic " + base64.b64encode(f"{name}:word".encode()).decode()


def in_order(*proxies: LocalWeb) -> list[Hit]:
    return sorted((hit for proxy in proxies for hit in proxy.hits), key=lambda hit: hit.begun)


def test_two_proxies(folder: Path) -> None:
    """Each URL comes once, by either, one at a time, and after a pause; robots.txt, too, which is kept."""
    with LocalWeb(behind, address="127.0.0.81") as one, LocalWeb(behind, address="127.0.0.82") as two:
        named = [proxy.root.replace("//", f"//{name}:word@") for name, proxy in (("one", one), ("two", two))]
        crawl(folder, named, DOWNLOAD_DELAY=0.02)
        hits = in_order(one, two)
    urls = Counter(hit.path for hit in hits)
    wanted = {f"http://a.example/{n or ''}" for n in range(PAGES) if n != 7} | {"http://a.example/robots.txt"}
    assert urls == dict.fromkeys(wanted, 1)
    assert min(later.begun - earlier.ended for earlier, later in pairwise(hits)) >= 0.02 - 0.01
    assert {hit.headers["User-Agent"] for hit in hits} == set(AGENTS)
    assert {hit.headers["Proxy-Authorization"] for hit in one.hits} == {secret("one")}
    assert {hit.headers["Proxy-Authorization"] for hit in two.hits} == {secret("two")}
    assert [hit.path for hit in hits[:2]] == ["http://a.example/robots.txt", "http://a.example/"]
    assert b"Proxy-Authorization" not in b"".join(path.read_bytes() for path in (folder / "job").glob("*.warc"))


@contextmanager
def refusing(address: str) -> Iterator[str]:
    """A proxy of which everybody is refused."""
    with closing(socket.socket()) as bound:
        bound.bind((address, 0))
        yield f"http://{address}:{bound.getsockname()[1]}"


def test_one_of_two_is_down(folder: Path) -> None:
    """No host is given up for it, no attempt is counted, and all pages come by the other."""
    with LocalWeb(behind, address="127.0.0.81") as one, refusing("127.0.0.82") as dead:
        stats = stats_of(crawl(folder, [one.root, dead]))
    states = states_of(folder / "job")
    assert Counter(states.values()) == {UrlState.FETCHED: PAGES - 1, UrlState.EXCLUDED: 1}
    assert stats.get("want/proxy", 0) + stats.get("want/proxies", 0) > 0
    assert "retry/count" not in stats
    assert len(one.hits) == PAGES


def test_one_of_two_wants_another_password(folder: Path) -> None:
    """As if it were down: what it says is no page."""
    shut = Answer(b"who are you?", 407, {"Proxy-Authenticate": "Basic"})
    with LocalWeb(behind, address="127.0.0.81") as one, LocalWeb(lambda path, host: shut) as closed:
        stats = stats_of(crawl(folder, [one.root, closed.root]))
    states = states_of(folder / "job")
    assert Counter(states.values()) == {UrlState.FETCHED: PAGES - 1, UrlState.EXCLUDED: 1}
    assert stats.get("want/proxy", 0) + stats.get("want/proxies", 0) > 0
    assert "downloader/response_status_count/407" not in stats


SPIDER = """
import scrapy

class Through(scrapy.Spider):
    name = "through"
    custom_settings = {"ADDONS": {"sitecrawl.addon.Addon": 500}, "SCHEDULER": "sitecrawl.scheduler.Scheduler"}

    async def start(self):
        yield scrapy.Request("http://a.example/1", meta={"proxy": self.proxy})

    def parse(self, response):
        yield {"url": response.url}
"""


def test_robots_txt_goes_the_way_of_its_page(tmp_path: Path) -> None:
    """Through the proxy that a spider names for one request, with its name and password: there is no other way."""
    (tmp_path / "through.py").write_text(SPIDER)
    with LocalWeb(behind, address="127.0.0.81") as one:
        proxy = one.root.replace("//", "//one:word@")
        done = scrapy(
            "runspider", str(tmp_path / "through.py"), "-a", f"proxy={proxy}", settings={"JOBDIR": tmp_path / "job"}
        )
    assert done.returncode == 0, done.stderr
    assert [hit.path for hit in one.hits] == ["http://a.example/robots.txt", "http://a.example/1"]
    assert {hit.headers["Proxy-Authorization"] for hit in one.hits} == {secret("one")}
