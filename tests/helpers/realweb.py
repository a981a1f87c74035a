"""The seven real sites, served on loopback as an HTTP proxy, and an independent walk over them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from urllib.parse import urldefrag, urljoin, urlsplit

import lxml.html
import pytest
from ports import Port
from waiting import PATIENCE

TOOL = Path(__file__).resolve().parents[3] / "shared" / "tools" / "real_web.py"
SEEDS = (
    "http://junit.org/",
    "http://dataframes.juliadata.org/stable/",
    "http://crawler-commons.github.io/1.0/",
    "http://ericniebler.github.io/",
    "http://www.python-httpx.org/",
    "http://www.starlette.io/",
    "http://ada-url.github.io/",
)


def tool() -> ModuleType:
    """The server's module, for what it would answer."""
    if not TOOL.exists():
        pytest.skip("the real sites are not there: ../shared/tools/real_web.py")
    spec = importlib.util.spec_from_file_location("real_web", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class RealWeb:
    """The proxy in a process of its own."""

    def __init__(self, cache: Path) -> None:
        self.module = tool()
        self.cache = cache.resolve()
        self.module.unpack(self.cache)
        self._port = Port()
        self.port = self._port.number
        self.proxy = f"http://127.0.0.1:{self.port}"
        self._process = subprocess.Popen(
            [sys.executable, TOOL, str(self.port), str(self.cache)], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline().startswith("serving")

    def answer(self, url: str) -> tuple[int, dict[str, str], bytes]:
        parts = urlsplit(url)
        root = self.cache / self.module.HOSTS[parts.hostname]
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        status, headers, body = self.module.answer(root, target)
        return status, headers, body

    def walk(self, seeds: tuple[str, ...] = SEEDS) -> dict[str, bytes]:
        """URL → body of every page that links reach from `seeds` on the seeds' hosts; read with lxml."""
        hosts = {urlsplit(seed).hostname for seed in seeds}
        pages: dict[str, bytes] = {}
        known, queue = set(seeds), deque(seeds)
        while queue:
            url = queue.popleft()
            status, headers, body = self.answer(url)
            found: list[str] = []
            if status == 301:
                found = [urljoin(url, headers["Location"])]
            elif status == 200:
                pages[url] = body
                if headers["Content-Type"] == "text/html":
                    found = list(links_of(url, body))
            for link in found:
                if link not in known and urlsplit(link).scheme == "http" and urlsplit(link).hostname in hosts:
                    known.add(link)
                    queue.append(link)
        return pages

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._port.close()


def links_of(url: str, body: bytes) -> Iterator[str]:
    """The URLs that a page links to, read in another way than sitecrawl's."""
    try:
        tree = lxml.html.document_fromstring(body, parser=lxml.html.HTMLParser(huge_tree=True))
    except lxml.etree.ParserError:
        return
    bases = tree.xpath("//base/@href")
    base = urljoin(url, bases[0].strip()) if bases else url
    for href in tree.xpath(
        "//a/@href | //area/@href | //frame/@src | //iframe/@src | //link[@rel='canonical']/@href"
    ):
        yield _absolute(base, href)
    for content in tree.xpath("//meta[translate(@http-equiv, 'REFSH', 'refsh')='refresh']/@content"):
        _, _, target = content.partition("=")
        if target:
            yield _absolute(base, target.strip("'\" "))


def _absolute(base: str, href: str) -> str:
    try:
        return urldefrag(urljoin(base, href.strip().replace("\\", "/"))).url.replace(" ", "%20")
    except ValueError:
        return ""
