"""Workers of one crawl, and one store elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from fleet import fleet, stored, urls_of, web_of
from redis_servers import Server

from sitecrawl.pagestore.workers import open_pages

pytestmark = pytest.mark.deep


def files_in(place: Path, pattern: str) -> list[tuple[str, bytes]]:
    """Their names and what is in them. Two workers that begin in one second have files of one name."""
    return sorted((path.name, path.read_bytes()) for path in place.glob(pattern))


def test_each_has_a_place_of_its_own(redis: Server, tmp_path: Path) -> None:
    """Although their directories have one name; and what is there can be read as one crawl."""
    store = tmp_path / "store"
    with web_of(60) as web, fleet(tmp_path, 2, web.url(0), redis.url, SITECRAWL_REMOTE=f"file://{store}") as workers:
        assert [worker.wait() for worker in workers] == [0, 0], workers[0].log
        (crawl,) = store.iterdir()
        assert files_in(crawl, "worker-*/warc/*") == files_in(tmp_path, "worker-*/job/warc/*")
        assert len(list(crawl.glob("worker-*/pages.sqlite"))) == 2
        with open_pages(crawl) as reader:
            assert (
                {page.url for page in reader.pages() if page.kind == "page"} == urls_of(web) == stored(workers).keys()
            )
