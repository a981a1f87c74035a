"""The main job on real input: seven real sites, crawled whole."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

import pytest
from crawling import scrapy
from realweb import SEEDS, RealWeb
from waiting import PATIENCE
from warcio.archiveiterator import ArchiveIterator

from sitecrawl.page.refusals import _challenge
from sitecrawl.pagestore import PageFilter, PageReader
from sitecrawl.urls.url import Canonicalizer, parse, site_of

pytestmark = pytest.mark.deep

LOC = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    served = RealWeb(tmp_path_factory.mktemp("real_web"))
    yield served
    served.close()


@pytest.fixture(scope="module")
def jobdir(web, tmp_path_factory):
    directory = tmp_path_factory.mktemp("crawl") / "seven"
    done = crawl(web, directory)
    assert done.returncode == 0, done.stderr
    return directory


def crawl(web: RealWeb, directory: Path) -> subprocess.CompletedProcess[str]:
    settings = {"SITECRAWL_DELAY_FACTOR": 0, "JOBDIR": directory, "STATS_DUMP": True, "LOG_LEVEL": "INFO"}
    words = ("crawl", "generic", "-a", f"seeds={','.join(SEEDS)}")
    return scrapy(*words, settings=settings, env={"http_proxy": web.proxy}, timeout=PATIENCE)


def test_every_page_that_an_independent_walk_reaches_is_stored_once(web, jobdir):
    """What another parser reaches by links is in the store, each page once, and nothing else is."""
    canonical = Canonicalizer().canonical
    walked = {canonical(parse(url)) for url in web.walk()}
    with closing(sqlite3.connect(jobdir / "pages.sqlite")) as index:
        urls = [url for (url,) in index.execute("SELECT url FROM pages WHERE kind = 'page'")]
    stored = Counter(canonical(parse(url)) for url in urls)
    assert set(stored) == walked
    assert len(walked) > 2500
    assert set(stored.values()) == {1}


def test_no_page_is_a_challenge(web):
    """Of none that is there, whatever its status were."""
    html = [(b"Content-Type", b"text/html")]
    pages = [path for path in web.cache.rglob("*.htm*") if path.is_file() and not path.is_symlink()]
    wrong = [path for path in pages if any(_challenge(status, html, path.read_bytes()) for status in (200, 403, 503))]
    assert len(pages) > 9000
    assert wrong == []


def test_stored_bodies_are_the_served_ones(web, jobdir):
    """A page read back by its capture has the body that the server sent, revisits included."""
    with PageReader(jobdir) as reader:
        captures = list(reader.pages(PageFilter(kind="page")))
        different = [c.url for c in captures if reader.read(c).body != web.answer(c.url)[2]]
    assert captures
    assert different == []


def test_no_page_of_another_host_is_fetched(jobdir):
    """No page comes from a host without seed, and hosts outside the seeds' sites are not even asked."""
    with closing(sqlite3.connect(jobdir / "pages.sqlite")) as index:
        captures = [(urlsplit(url).hostname, kind) for url, kind in index.execute("SELECT url, kind FROM pages")]
    hosts = {urlsplit(seed).hostname for seed in SEEDS}
    assert {host for host, kind in captures if kind == "page"} == hosts
    assert {site_of(host) for host, _ in captures} == {site_of(host) for host in hosts}


@pytest.mark.parametrize("checker", [["warcio", "check"], ["fastwarc", "check"]])
def test_every_warc_file_passes_the_checkers(jobdir, checker):
    """Two independent readers find every record whole and every digest right."""
    files = sorted((jobdir / "warc").glob("*.warc.gz"))
    assert files
    command = [str(Path(sys.executable).parent / checker[0]), *checker[1:], *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_duplicate_bodies_are_revisits(jobdir):
    """A body is written once: its other captures are revisit records."""
    kinds: Counter[str] = Counter()
    for file in (jobdir / "warc").glob("*.warc.gz"):
        with file.open("rb") as stream:
            kinds.update(record.rec_type for record in ArchiveIterator(stream))
    assert kinds["revisit"] > 0
    assert kinds["request"] == kinds["response"] + kinds["revisit"]


def test_the_same_jobdir_again_fetches_nothing(web, jobdir):
    """A finished crawl is finished: its second run only looks whether names exist by now that did not."""
    before = (jobdir / "pages.sqlite").read_bytes()
    again = crawl(web, jobdir)
    assert again.returncode == 0
    assert "finish_reason': 'finished'" in again.stderr
    assert "downloader/response_count" not in again.stderr
    assert (jobdir / "pages.sqlite").read_bytes() == before


@pytest.mark.parametrize("host", ["www.starlette.io", "www.python-httpx.org"])
def test_sitemaps_of_real_sites(web, tmp_path, host):
    """Without a robots.txt the sitemap is found, and every page that it lists is stored."""
    settings = {"SITECRAWL_DELAY_FACTOR": 0, "JOBDIR": tmp_path / "job"}
    words = ("crawl", "sitemap", "-a", f"domains=http://{host}/")
    done = scrapy(*words, settings=settings, env={"http_proxy": web.proxy}, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert web.answer(f"http://{host}/robots.txt")[0] == 404
    listed = {(e.text or "").strip() for e in ET.fromstring(web.answer(f"http://{host}/sitemap.xml")[2]).iter(LOC)}
    with PageReader(tmp_path / "job") as reader:
        stored = {capture.url for capture in reader.pages(PageFilter(kind="page", status=200))}
    assert len(listed) > 10
    assert listed <= stored
