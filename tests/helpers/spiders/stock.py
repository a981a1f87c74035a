"""Spiders as Scrapy's users write them: they know nothing of sitecrawl. Each does one thing that Scrapy promises."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import FormRequest, Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, JsonRequest, Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider


def seen(response, **more: Any) -> dict[str, Any]:
    """What came back for which request, to be compared between two schedulers."""
    request = response.request
    assert request is not None
    return {
        "url": response.url,
        "status": response.status,
        "method": request.method,
        "sent": request.body.decode(),
        "depth": response.meta.get("depth"),
        "redirects": response.meta.get("redirect_urls"),
        **more,
    }


class Local(Spider):
    """`root` is the server under test, `other` a second host of it, `refused` a URL where nobody listens."""

    root: str
    other: str
    refused: str

    def parse(self, response, **kwargs: Any) -> Any:
        yield seen(response)


class Callbacks(Local):
    name = "callbacks"

    async def start(self) -> AsyncIterator[Any]:
        yield {"an item": "from start"}
        yield Request(f"{self.root}/tree/0", self.branch, cb_kwargs={"way": ["root"]}, meta={"kept": ("a", 1)})
        yield Request(f"{self.root}/plain", priority=5)

    def branch(self, response, way: list[str]) -> Iterator[Any]:
        yield seen(response, way=way, kept=list(response.meta["kept"]))
        for number, link in enumerate(response.css("a")):
            yield response.follow(
                link,
                self.branch,
                cb_kwargs={"way": [*way, response.url]},
                meta={"kept": response.meta["kept"]},
                priority=number,
                headers={"X-Number": str(number)},
            )
            yield {"link": link.attrib["href"]}


class AsyncCallbacks(Local):
    name = "async-callbacks"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.root}/tree/0")

    async def parse(self, response, **kwargs: Any) -> AsyncIterator[Any]:
        yield seen(response)
        for request in response.follow_all(css="a"):
            yield request


class InlineDownloads(Local):
    """Downloads besides the scheduler, with the page's own meta."""

    name = "inline-downloads"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.root}/tree/0")

    async def parse(self, response, **kwargs: Any) -> AsyncIterator[Any]:
        extra = await self.crawler.engine.download_async(Request(f"{self.root}/plain", meta=response.meta))
        yield seen(response, extra=extra.url)
        for request in response.follow_all(css="a"):
            yield request


class Forms(Local):
    name = "forms"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.root}/form", self.form)
        yield FormRequest(f"{self.root}/post", formdata={"a": "1", "b": ["2", "3"]})
        yield JsonRequest(f"{self.root}/post", data={"a": [1]})
        yield JsonRequest(f"{self.root}/post", data={"a": [1]})
        yield Request(f"{self.root}/post", method="PUT", body=bytes(range(127)))

    def form(self, response) -> Iterator[Any]:
        yield FormRequest.from_response(response, formdata={"user": "me"})
        yield FormRequest.from_response(response, formdata={"user": "you"})


class Errbacks(Local):
    name = "errbacks"

    async def start(self) -> AsyncIterator[Any]:
        for number in range(4):
            yield Request(f"{self.refused}/{number}", errback=self.failed, cb_kwargs={"number": number})
            yield Request(f"http://nowhere.invalid/{number}", errback=self.failed, cb_kwargs={"number": number})
        for path in ("/404", "/500", "/plain", "/loop"):
            yield Request(self.root + path, errback=self.failed, cb_kwargs={"number": -1})
        yield Request(f"{self.root}/404", self.parse, dont_filter=True)
        yield Request(f"{self.root}/plain?raises", self.raises, errback=self.failed)

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response, **kwargs)

    def raises(self, response) -> None:
        raise ValueError(response.url)

    def failed(self, failure) -> Iterator[Any]:
        request = failure.request
        yield {"failed": request.url, "error": failure.type.__name__, "kwargs": request.cb_kwargs}
        yield Request(f"{self.root}/after?{request.url}", cb_kwargs={"after": request.url})


class DeadLinks(Local):
    """Looks for what is there among much that is not, page after page that is worth nothing."""

    name = "dead-links"
    handle_httpstatus_list = (404,)
    custom_settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": 8}  # noqa: RUF012 - Scrapy's interface

    async def start(self) -> AsyncIterator[Any]:
        for number in range(150):
            yield Request(f"{self.root}/404?{number}")

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response)
        if "?1" in response.url:
            yield response.follow(response.url.replace("404?", "404?x"))


class Duplicates(Local):
    name = "duplicates"

    async def start(self) -> AsyncIterator[Any]:
        for _ in range(2):
            yield Request(f"{self.root}/plain?b=1&a=2")
            yield Request(f"{self.root}/plain?a=2&b=1#fragment")
            yield Request(f"{self.root}/plain?c", dont_filter=True)
        yield Request(f"{self.root}/again/3", self.again)

    def again(self, response) -> Iterator[Any]:
        yield seen(response, round=response.meta.get("round", 0))
        if response.meta.get("round", 0) < 3:
            yield response.request.replace(dont_filter=True, meta={"round": response.meta.get("round", 0) + 1})


class SameMeta(Local):
    """Hands a page's meta on as it is, to pages that have nothing to do with it."""

    name = "same-meta"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.root}/tree/0", meta={"round": 0})

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response, round=response.meta["round"])
        for link in response.css("a::attr(href)").getall():
            yield Request(response.urljoin(link), meta=response.meta)
        if response.meta["round"] < 2:
            response.meta["round"] += 1
            for _ in range(2):
                yield Request(response.url, meta=response.meta, dont_filter=True)
            yield Request(response.url, method="POST", body="x", meta=response.meta, dont_filter=True)


class Statuses(Local):
    name = "statuses"
    handle_httpstatus_list = (302, 404)

    async def start(self) -> AsyncIterator[Any]:
        for path in ("/404", "/500", "/302", "/plain", "/410"):
            yield Request(self.root + path)
        yield Request(f"{self.root}/410?meta", meta={"handle_httpstatus_all": True})
        yield Request(f"{self.root}/302?meta", meta={"dont_redirect": True})

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response)
        if response.status == 302:
            yield response.follow(response.headers["Location"].decode(), meta=response.meta)


class Redirects(Local):
    name = "redirects"

    async def start(self) -> AsyncIterator[Any]:
        for status in (301, 302, 303, 307, 308):
            yield Request(f"{self.root}/{status}?get")
            yield FormRequest(f"{self.root}/{status}?post", formdata={"kept": str(status)})
        for path in ("/loop", "/self", "/chain/3", "/refresh", "/no-location"):
            yield Request(self.root + path, meta={"from": path})
        yield Request(f"{self.root}/301?once", dont_filter=True)
        yield Request(f"{self.root}/301?once", dont_filter=True)


class StartUrls(Local):
    name = "start-urls"

    def __init__(self, root: str, **kwargs: Any) -> None:
        super().__init__(root=root, **kwargs)
        self.start_urls = [f"{root}/tree/0", f"{root}/tree/0", f"{root}/tree/1"]

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response)
        yield from response.follow_all(css="a")


class Cookies(Local):
    name = "cookies"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.root}/login", self.inside)
        yield Request(f"{self.root}/tree/1", cookies={"given": "by hand"}, meta={"cookiejar": 2})

    def inside(self, response) -> Iterator[Any]:
        yield seen(response)
        yield from response.follow_all(["/tree/2", "/tree/3"])


class Cached(Local):
    name = "cached"
    custom_settings = {"HTTPCACHE_ENABLED": True}  # noqa: RUF012 - Scrapy's interface

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.root}/tree/1", cb_kwargs={"rounds": 2})

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response, flags=response.flags)
        if kwargs["rounds"]:
            yield response.request.replace(dont_filter=True, cb_kwargs={"rounds": kwargs["rounds"] - 1})


class Rewriting:
    """A downloader middleware that answers by itself, asks for something else, or says no."""

    def process_request(self, request: Request) -> Request | Response | None:
        if request.url.endswith("/made"):
            return HtmlResponse(request.url, body=b"<a href='/tree/3'>made</a>")
        if request.url.endswith("/elsewhere"):
            return request.replace(url=request.url.replace("/elsewhere", "/plain?elsewhere"))
        if request.url.endswith("/forbidden"):
            raise IgnoreRequest("not this one")
        return None

    def process_response(self, request: Request, response) -> Request | Response:
        if request.url.endswith("/once-more") and not request.meta.get("more"):
            return request.replace(meta={**request.meta, "more": True}, dont_filter=True)
        return response.replace(flags=[*response.flags, "rewritten"])

    def process_exception(self, request: Request, exception: Exception) -> Response | None:
        return HtmlResponse(request.url, status=599) if "nobody" in request.url else None


class DownloaderMiddlewares(Local):
    name = "downloader-middlewares"
    custom_settings = {  # noqa: RUF012 - Scrapy's interface
        "DOWNLOADER_MIDDLEWARES": {Rewriting: 543},
        "RETRY_ENABLED": False,
        "HTTPERROR_ALLOWED_CODES": [599],
    }

    async def start(self) -> AsyncIterator[Any]:
        for path in ("/made", "/elsewhere", "/forbidden", "/once-more", "/plain"):
            yield Request(self.root + path, errback=self.failed)
        yield Request(f"{self.refused}/nobody")

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response, flags=response.flags)
        yield from response.follow_all(css="a")

    def failed(self, failure) -> Iterator[Any]:
        yield {"failed": failure.request.url, "error": failure.type.__name__}


class Dropping(BaseSpiderMiddleware):
    """A spider middleware that drops some requests and changes others."""

    def get_processed_request(self, request: Request, response) -> Request | None:
        if request.url.endswith(("2", "4")):
            return None
        return request.replace(meta={**request.meta, "through": "the middleware"})


class SpiderMiddlewares(StartUrls):
    name = "spider-middlewares"
    custom_settings = {"SPIDER_MIDDLEWARES": {Dropping: 543}}  # noqa: RUF012 - Scrapy's interface

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response, through=response.meta.get("through"))
        yield from response.follow_all(css="a")


class ByPath:
    """A fingerprinter for which the query does not count."""

    def fingerprint(self, request: Request) -> bytes:
        return request.url.partition("?")[0].encode()


class Fingerprints(Local):
    name = "fingerprints"
    custom_settings = {"REQUEST_FINGERPRINTER_CLASS": ByPath, "CONCURRENT_REQUESTS": 1}  # noqa: RUF012

    async def start(self) -> AsyncIterator[Any]:
        for number in range(3):
            yield Request(f"{self.root}/plain?{number}")
            yield Request(f"{self.root}/plain", method="POST")


class Offsite(StartUrls):
    name = "offsite"
    allowed_domains = ("127.0.0.1",)

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response)
        yield from response.follow_all(css="a")
        yield Request(f"{self.other}/plain")
        yield Request(f"{self.other}/plain?allowed", meta={"allow_offsite": True})
        yield Request(f"{self.root}/to-other")


class Depth(StartUrls):
    name = "depth"
    custom_settings = {"DEPTH_LIMIT": 2}  # noqa: RUF012 - Scrapy's interface

    def __init__(self, root: str, **kwargs: Any) -> None:
        super().__init__(root, **kwargs)
        self.start_urls = [f"{root}/tree/0", f"{root}/chain/1"]


class Rules(CrawlSpider):
    name = "rules"
    rules = (
        Rule(LinkExtractor(allow=r"/tree/\d"), callback="parse_tree", follow=True, cb_kwargs={"rule": 1}),
        Rule(LinkExtractor(allow=r"/plain"), callback="parse_tree", process_request="mark", errback="failed"),
    )

    def __init__(self, root: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [f"{root}/tree/0"]

    def parse_start_url(self, response, **kwargs: Any) -> Any:
        return [seen(response, start=True)]

    def parse_tree(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response, kwargs=kwargs, text=response.meta["link_text"])

    def mark(self, request: Request, response) -> Request:
        return request.replace(cb_kwargs={"from": response.url})


class Sitemap(SitemapSpider):
    name = "sitemap"
    sitemap_rules = (("/tree/", "parse"), ("/plain", "parse_other"))

    def __init__(self, root: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sitemap_urls = [f"{root}/robots.txt"]

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response)

    def parse_other(self, response) -> Iterator[Any]:
        yield seen(response, other=True)


class Schemes(Local):
    name = "schemes"

    async def start(self) -> AsyncIterator[Any]:
        yield Request("data:text/plain,some%20text", self.text)
        yield Request("data:text/plain,some%20text", self.text)
        yield Request(f"file://{__file__}", self.text)
        yield Request("gopher://127.0.0.1/", self.text, errback=self.failed)

    def text(self, response) -> Iterator[Any]:
        yield {"url": response.url, "first": response.body.splitlines()[0].decode()}

    def failed(self, failure) -> Iterator[Any]:
        yield {"failed": failure.request.url, "error": failure.type.__name__}


class State(StartUrls):
    """Counts its pages in `self.state`, which a JOBDIR keeps."""

    name = "state"
    state: dict[str, Any]

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        pages = self.state.setdefault("pages", [])
        yield {"before": len(pages)}  # which page comes first is the network's affair
        pages.append(response.url)


class Memory(StartUrls):
    """Requests that cannot be written down: callbacks that have no name, and an open file in meta."""

    name = "memory"

    def parse(self, response, **kwargs: Any) -> Iterator[Any]:
        yield seen(response, kept=type(response.meta.get("kept")).__name__)
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, lambda r: list(self.parse(r)), meta={"kept": memoryview(b"")})


SPIDERS = {
    spider.name: spider
    for spider in (
        Callbacks,
        AsyncCallbacks,
        InlineDownloads,
        Forms,
        Errbacks,
        DeadLinks,
        Duplicates,
        SameMeta,
        Statuses,
        Redirects,
        StartUrls,
        Cookies,
        Cached,
        DownloaderMiddlewares,
        SpiderMiddlewares,
        Fingerprints,
        Offsite,
        Depth,
        Rules,
        Sitemap,
        Schemes,
        State,
        Memory,
    )
}
