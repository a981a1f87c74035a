"""A worker that is killed at each of its steps on Redis, and between them, loses nothing and stores nothing twice."""

from __future__ import annotations

from pathlib import Path

from durable_steps import TAKEN_AGAIN, WORKER, WORKERS_END
from fleet import Worker, stored, urls_of, web_of
from redis_servers import server


def test_a_worker_that_comes_back(tmp_path: Path) -> None:
    """Killed before and behind every step of its beginning, its work and its end, each start after the other: it has
    every page once, though it is the only one.
    """
    with server() as redis, web_of(400) as web:
        worker = Worker(
            tmp_path / "w",
            web.url(0),
            redis.url,
            begins=False,
            SITECRAWL_LEASE_SECONDS=30,
            CLOSESPIDER_PAGECOUNT=10_000,
        )
        for point in WORKER:
            worker.killed_at(point, pages=4)
        for point in WORKERS_END:
            worker.killed_at(point, pages=100)
        worker.start()
        assert worker.wait() == 0, worker.log[-3000:]
    pages = stored([worker])
    assert pages == dict.fromkeys(urls_of(web), 1)


def test_a_worker_that_takes_what_another_has_left(tmp_path: Path) -> None:
    """Killed while the rows of a partition come in, and when it removes them at its next start: all pages are there,
    each once.
    """
    with server() as redis, web_of(400) as web:
        first = Worker(tmp_path / "one", web.url(0), redis.url, CLOSESPIDER_PAGECOUNT=100)
        assert first.wait() == 0, first.log[-3000:]
        second = Worker(tmp_path / "two", "", redis.url, begins=False, SITECRAWL_LEASE_SECONDS=30)
        for point in TAKEN_AGAIN:
            second.killed_at(point, pages=4)
        second.start()
        assert second.wait() == 0, second.log[-3000:]
    assert stored([first, second]) == dict.fromkeys(urls_of(web), 1)
