"""A spider over a graph of pages: every page is one item, reached by GET and by POST, with a counter in its state."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider


class Graph(Spider):
    name = "graph"
    custom_settings = {  # noqa: RUF012 - Scrapy's interface
        "ROBOTSTXT_OBEY": False,
        "SITECRAWL_DELAY_FACTOR": 0,
        "DOWNLOAD_DELAY": 0.02,
        "LOG_LEVEL": "INFO",
        "STATS_DUMP": True,
    }
    root: str
    state: dict[str, Any]

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.root}/0", self.page, cb_kwargs={"way": ()})

    def page(self, response, way: tuple[str, ...]) -> Iterator[Any]:
        self.state["pages"] = self.state.get("pages", 0) + 1
        yield {"path": response.url.removeprefix(self.root), "way": len(way), "method": response.request.method}
        for link in response.css("a"):
            yield response.follow(link, self.page, cb_kwargs={"way": (*way, response.url)}, errback=self.failed)
        yield Request(f"{response.url}?form", self.form, method="POST", body=b"\x00\xff", meta={"way": set(way)})

    def form(self, response) -> Iterator[Any]:
        assert response.request.body == b"\x00\xff"
        assert isinstance(response.meta["way"], set)
        yield {"path": response.url.removeprefix(self.root), "way": -1, "method": response.request.method}

    def failed(self, failure) -> None:
        raise AssertionError(failure)
