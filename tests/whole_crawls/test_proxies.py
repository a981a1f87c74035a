"""Crawls through a proxy of SOCKS, and ones that name a proxy there is no way through."""

from __future__ import annotations

from pathlib import Path

import pytest
from crawling import scrapy, states_of
from localweb import LocalWeb, linked
from socks_server import Socks, served

from sitecrawl.frontier.urls.record import UrlState

WORDS = ("crawl", "generic", "-a", "seeds=http://far.example/")


def test_a_crawl_through_socks(tmp_path: Path) -> None:
    """Name and password are the environment's, and reach no host; robots.txt comes the same way."""
    job = tmp_path / "job"
    with LocalWeb(lambda path, _: linked("/a", "/b") if path == "/" else "page " + path) as web:
        server = Socks(int(web.root.rpartition(":")[2]), login=(b"me", b"word"))
        with served(server) as port:
            settings = {"JOBDIR": job, "SITECRAWL_DELAY_FACTOR": 0}
            done = scrapy(*WORDS, settings=settings, env={"http_proxy": f"socks5h://me:word@127.0.0.1:{port}"})
        assert done.returncode == 0, done.stderr
        assert sorted(hit.path for hit in web.hits) == ["/", "/a", "/b", "/robots.txt"]
        assert {hit.host for hit in web.hits} == {"far.example"}
        assert not any("Proxy-Authorization" in hit.headers for hit in web.hits)
    assert set(server.asked) == {("far.example", 80)}
    assert set(states_of(job).values()) == {UrlState.FETCHED}


@pytest.mark.parametrize(
    ("proxy", "why"), [("socks4://127.0.0.1:9", "not over socks4"), ("http://:9", "without a host")]
)
def test_no_way_through(tmp_path: Path, proxy: str, why: str) -> None:
    """One line at the start: it would fail every page."""
    done = scrapy(*WORDS, settings={"JOBDIR": tmp_path / "job"}, env={"http_proxy": proxy})
    assert done.returncode != 0
    assert why in done.stderr
    assert "Traceback" not in done.stderr
