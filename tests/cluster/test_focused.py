"""`scrapy crawl focused` by many workers: what one of them learns of an example, all know."""

from __future__ import annotations

import re
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fleet import fleet
from localweb import LocalWeb, Page
from redis_servers import Server
from waiting import until

pytestmark = pytest.mark.deep

SOLAR = "solar panels turn light into power; solar cells, panels on roofs"
NOISE = "cooking with butter, flour and eggs in small kitchens"


def page(text: str, *paths: str) -> str:
    links = "".join(f'<a href="{path}">{number}</a> ' for number, path in enumerate(paths))
    return f"<title>page</title><p>{text}</p>{links}"


def test_an_example_is_fetched_once_and_known_to_all(redis: Server, tmp_path: Path) -> None:
    """One of two workers fetches it, and whoever comes later, when both have gone, knows it all the same."""
    pages: dict[str, Page] = {f"/{n}": page(f"{SOLAR if n % 2 else NOISE} n{n}") for n in range(6)}
    with ExitStack() as stack:
        example = stack.enter_context(LocalWeb({"/example": page(SOLAR)}))
        web = stack.enter_context(LocalWeb({"/": page("all we have", *pages), **pages}, address="127.0.0.2"))
        client = stack.enter_context(redis.client())
        given: dict[str, Any] = {
            "spider": "focused",
            "arguments": ("scope=any", "watch=1", f"examples={example.root}/example"),
        }
        first = stack.enter_context(fleet(tmp_path / "first", 2, "", redis.url, **given))
        until(lambda: client.llen("sitecrawl:{focused.0}:scope"), lambda: f"an example is told: {first[0].log}")
        for worker in first:
            worker.send(signal.SIGTERM)
            assert worker.wait() == 0, worker.log
        (late,) = stack.enter_context(fleet(tmp_path / "late", 1, "", redis.url, **given))
        client.rpush("focused:start_urls", f"{web.root}/")
        until(lambda: set(web.paths()) == {"/", *pages}, lambda: f"all pages are fetched: {late.log}")
        late.send(signal.SIGTERM)
        assert late.wait() == 0, late.log
    assert example.paths() == ["/example"]
    assert re.findall(r"'focused/re(?:ad|levant)': (\d+)", late.log) == ["7", "3"]
    assert client.llen("sitecrawl:{focused.0}:scope") == 2  # and the seed
