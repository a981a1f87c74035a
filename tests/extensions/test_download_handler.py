"""Where the crawler connects to, and what it takes from whom it has connected to."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import hostileweb as hostile
import pytest
from certificates import certificate
from crawling import HELPERS, PROJECT, scrapy, states_of, stats_of
from hostileweb import HostileWeb
from hypothesis import given
from hypothesis import strategies as st
from localweb import Answer, LocalWeb, linked
from scrapy import Request
from scrapy.exceptions import UnsupportedURLSchemeError
from scrapy.http import Headers
from scrapy.responsetypes import responsetypes

from sitecrawl.extensions.download_handler import _endpoint, _kind_of, _scrapys, _url
from sitecrawl.frontier.urls.record import UrlState

RESOLVERS = {"PYTHONPATH": f"{PROJECT}:{HELPERS / 'spiders'}"}
PUBLIC, PRIVATE = "127.0.0.51", "127.0.0.52"
"""As tests/helpers/spiders/resolvers.py has them."""


def crawl(seeds: str, jobdir: Path, **settings: object) -> tuple[dict[str, UrlState], dict[str, int]]:
    """What has become of each URL, and the stats."""
    words = ("crawl", "generic", "-a", f"seeds={seeds}", "-a", "scope=any")
    common = {"JOBDIR": jobdir, "SITECRAWL_DELAY_FACTOR": 0, "LOG_LEVEL": "INFO", "STATS_DUMP": True}
    resolver = {"TWISTED_DNS_RESOLVER": "resolvers.Changing", "SITECRAWL_FAILURE_DELAY": 0.05}
    common["SITECRAWL_EXIT_CODES"] = False
    done = scrapy(*words, settings={**common, **resolver, **settings}, env=RESOLVERS)
    assert done.returncode == 0, done.stderr
    return states_of(jobdir), stats_of(done.stderr)


@pytest.fixture
def private() -> Iterator[LocalWeb]:
    with LocalWeb({"/": linked("/a"), "/a": "a"}, address=PRIVATE) as web:
        yield web


@pytest.fixture
def public(private: LocalWeb) -> Iterator[LocalWeb]:
    links = [f"http://private.example:{private.port}/", f"http://{PRIVATE}:{private.port}/", "/moved", "/late"]
    moved = Answer(b"", 302, {"Location": f"http://private.example:{private.port}/a", "Connection": "close"})
    pages = {"/": Answer(linked(*links).encode(), 200, {"Content-Type": "text/html", "Connection": "close"}),
             "/moved": moved, "/robots.txt": Answer(b"", 404, {"Connection": "close"})}  # fmt: skip
    with LocalWeb(pages, address=PUBLIC, port=private.port) as web:
        yield web


def test_a_public_page_leads_to_no_private_address(public: LocalWeb, private: LocalWeb, tmp_path: Path) -> None:
    """Whether a name or an address is linked or redirected to: nobody is asked, and the URL is excluded."""
    states, stats = crawl(f"http://public.example:{public.port}/", tmp_path / "job")
    assert private.hits == []
    excluded = {url for url, state in states.items() if state == UrlState.EXCLUDED}
    root = f"http://private.example:{private.port}/"
    assert excluded == {root, f"{root}a", f"http://{PRIVATE}:{private.port}/"}
    assert stats["limits/private_address"] == 3


@pytest.mark.deep
def test_an_answer_that_changes_is_checked_again(public: LocalWeb, private: LocalWeb, tmp_path: Path) -> None:
    """A name that was public for its first page is refused once it leads elsewhere."""
    closing = {"Content-Type": "text/html", "Connection": "close"}
    changing = f"http://changing.example:{public.port}/"
    public.pages = lambda path, host: Answer(linked(f"{changing}1", f"{changing}2").encode(), 200, closing)
    states, stats = crawl(f"http://public.example:{public.port}/", tmp_path / "job", ROBOTSTXT_OBEY=False)
    assert private.hits == []
    assert states[f"{changing}1"] == UrlState.FETCHED
    assert states[f"{changing}2"] == UrlState.EXCLUDED
    assert stats["limits/private_address"] == 1


@pytest.mark.deep
def test_a_seed_names_its_host(private: LocalWeb, tmp_path: Path) -> None:
    """A private host that the user names is crawled, also when the crawl goes on; others beside it are not."""
    root = f"http://private.example:{private.port}/"
    states, _ = crawl(root, tmp_path / "job", SITECRAWL_MAX_PAGES=1)
    assert states == {root: UrlState.FETCHED, f"{root}a": UrlState.QUEUED}
    states, _ = crawl("http://public.example:9/", tmp_path / "job")
    assert states[f"{root}a"] == UrlState.FETCHED


@pytest.mark.parametrize(
    ("url", "endpoint", "target"),
    [
        ("http://a.example:80/x", (False, "a.example", 80), "/x"),
        ("https://A.example", (True, "a.example", 443), "/"),
        ("http://a.example:8080?q#f", (False, "a.example", 8080), "/?q"),
        ("http://0x7f.1:80/", (False, "127.0.0.1", 80), "/"),
        ("http://2130706433/", (False, "127.0.0.1", 80), "/"),
        ("http://[::1]:81/a/../b", (False, "::1", 81), "/b"),
        ("http://named.example\\@other.example/", (False, "named.example", 80), "/@other.example/"),
        ("http://named.example@other.example/", (False, "other.example", 80), "/"),
        ("http://user:secret@other.example/", (False, "other.example", 80), "/"),
    ],
)
def test_a_url_says_where_to_connect_and_what_to_ask_for(
    url: str, endpoint: tuple[bool, str, int], target: str
) -> None:
    """One parser reads the host for the check and for the connection, and what is sent."""
    request = Request("http://x")
    request._url = url  # as it is: Scrapy would escape it
    parsed = _url(request)
    assert (_endpoint(parsed.scheme, parsed.host), parsed.target) == (endpoint, target)


@pytest.mark.parametrize("url", ["http://a b/", "http://named.example%5C@other.example:x/", "ftp://a.example/"])
def test_what_is_no_web_url_is_not_sent(url: str) -> None:
    """Scrapy's retries are told that there is no handler for it."""
    request = Request("http://x")
    request._url = url
    with pytest.raises(UnsupportedURLSchemeError):
        _url(request)


@pytest.mark.deep
def test_a_seed_with_a_public_name_is_no_exception(private: LocalWeb, tmp_path: Path) -> None:
    """Whoever has the name lets it lead where he likes."""
    root = f"http://private.example.com:{private.port}/"
    states, stats = crawl(root, tmp_path / "job")
    assert private.hits == []
    assert (states, stats["limits/private_address"]) == ({root: UrlState.EXCLUDED}, 1)


def test_all_may_be_allowed(public: LocalWeb, private: LocalWeb, tmp_path: Path) -> None:
    """SITECRAWL_ALLOW_PRIVATE lets every address in."""
    states, _ = crawl(f"http://public.example:{public.port}/", tmp_path / "job", SITECRAWL_ALLOW_PRIVATE=True)
    assert set(states.values()) == {UrlState.FETCHED}
    assert len(private.hits) > 2


def test_a_proxy_is_the_users_choice(private: LocalWeb, tmp_path: Path) -> None:
    """The proxy may be anywhere; names are its business, private addresses are refused before it is asked."""
    with LocalWeb(
        lambda path, host: (
            Answer(b"", 302, {"Location": "http://x@10.0.0.2/"})
            if path.endswith("/moved")
            else linked(
                "http://10.0.0.1/", "http://0xa.1/", "http://x.localhost./", "http://other.example/", "/moved"
            )
        ),
        address="127.0.0.53",
    ) as proxy:
        words = ("crawl", "generic", "-a", "seeds=http://a.example/", "-a", "scope=any")
        settings = {"JOBDIR": tmp_path / "job", "SITECRAWL_DELAY_FACTOR": 0}
        done = scrapy(*words, settings=settings, env={"http_proxy": proxy.root})
        assert done.returncode == 0, done.stderr
    assert {hit.host for hit in proxy.hits} == {"a.example", "other.example"}
    excluded = {url for url, state in states_of(tmp_path / "job").items() if state == UrlState.EXCLUDED}
    assert excluded == {"http://10.0.0.1/", "http://10.0.0.2/", "http://x.localhost./"}


def test_a_304_that_was_not_asked_for(tmp_path: Path) -> None:
    """It is no page, which would be an empty one: it is tried again, and has failed."""
    with LocalWeb({"/": linked("/a", "/b"), "/a": Answer(status=304), "/b": "b"}) as web:
        states, stats = crawl(web.root, tmp_path / "job", RETRY_TIMES=1)
    assert web.paths().count("/a") == 2
    assert states[f"{web.root}/a"] == UrlState.FAILED
    assert stats["downloader/exception_type_count/sitecrawl.crawl.download_errors.BadAnswer"] == 2
    why = scrapy("why", "-d", str(tmp_path / "job"), f"{web.root}/a").stdout
    assert "no proper HTTP" in why


SPIDER = """
import scrapy

class Any(scrapy.Spider):
    name = "any"
    start_urls = ["{root}/"]

    def parse(self, response):
        yield {{"url": response.url}}
        for link in ("file:///etc/passwd", "data:text/plain,x", "{other}/", "/a", "/" + "x" * 9000):
            yield response.follow(link, self.parse, errback=self.failed)

    def failed(self, failure):
        yield {{"url": failure.request.url, "error": failure.type.__name__}}
"""


def test_any_spider_is_kept_from_leaving_the_web(tmp_path: Path) -> None:
    """A spider of Scrapy's own reaches its start URLs' hosts, and no file, no other private host, no long URL."""
    with LocalWeb({"/": "home", "/a": "a"}) as web, LocalWeb({"/": ""}, address="127.0.0.2") as other:
        (tmp_path / "any.py").write_text(SPIDER.format(root=web.root, other=other.root))
        settings = {"ADDONS": json.dumps({"sitecrawl.addon.Addon": 500}), "STATS_DUMP": True, "JOBDIR": "job"}
        done = scrapy(
            "runspider",
            "any.py",
            "-O",
            "items.json",
            settings=settings,
            cwd=tmp_path,
            env={"PYTHONPATH": str(PROJECT)},
        )
        assert done.returncode == 0, done.stderr
        items = {item["url"]: item.get("error") for item in json.loads((tmp_path / "items.json").read_text())}
        assert items == {f"{web.root}/": None, f"{web.root}/a": None, f"{other.root}/": "PrivateAddress"}
        assert other.hits == []
    stats = stats_of(done.stderr)
    assert stats["limits/scheme"] == 4
    assert stats["limits/url_length"] == 2


@pytest.mark.deep
def test_endless_headers_end_over_tls(tmp_path: Path) -> None:
    """The connection is cut, though its peer goes on sending and never says goodbye."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate(tmp_path))
    ended: list[bool] = []

    def flood(connection: socket.socket, path: str) -> None:
        with context.wrap_socket(connection, server_side=True) as secure:
            secure.recv(65536)
            try:
                hostile.forever(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 1000)(secure, path)
            except OSError:
                ended.append(True)

    with HostileWeb(flood, "127.0.0.54") as web:
        seeds = web.root.replace("http:", "https:")
        states, stats = crawl(seeds, tmp_path / "job", ROBOTSTXT_OBEY=False)
    assert set(states.values()) == {UrlState.FAILED}
    assert stats["limits/headers"] == 1
    assert ended


FIELDS = st.lists(
    st.tuples(
        st.sampled_from([b"Content-Type", b"content-type", b"CONTENT-ENCODING", b"Content-Disposition", b"X-a_b"]),
        st.sampled_from([b"", b"text/html; charset=x", b"TEXT/XML", b"a/b", b"gzip", b"a; filename=b.txt", b"\xff"]),
    ),
    max_size=4,
)


@given(
    FIELDS, st.sampled_from(["http://a.example/", "http://a.example/b.xml"]), st.sampled_from([b"", b"<html>", b"\0"])
)
def test_a_response_is_what_scrapy_makes_of_its_headers(
    fields: list[tuple[bytes, bytes]], url: str, body: bytes
) -> None:
    """The same headers, and the same class, also where the Content-Type does not say it."""
    headers = _scrapys(fields)
    assert headers == Headers(fields)
    assert _kind_of(headers, url, body) is responsetypes.from_args(headers=Headers(fields), url=url, body=body)
