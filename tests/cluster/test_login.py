"""Workers of one crawl, at sites that one has to log in at: who does, and what becomes of it when one is lost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from fleet import Worker, fleet
from members_web import PASSWORD, USER, MembersWeb
from redis_servers import Server
from waiting import PATIENCE, until

PAGES = 4


@pytest.fixture
def webs() -> Iterator[list[MembersWeb]]:
    """Sites on addresses of their own, so that each may be another worker's."""
    with ExitStack() as stack:
        yield [stack.enter_context(MembersWeb(PAGES, address=f"127.0.0.{n + 1}")) for n in range(3)]


def sheets(webs: Sequence[MembersWeb]) -> str:
    fields = {"user": USER, "password": PASSWORD}
    return json.dumps(
        [
            {"hosts": [web.host], "login": {"kind": "form", "url": f"{web.root}/login", "fields": fields}}
            for web in webs
        ]
    )


def seeds(webs: Sequence[MembersWeb]) -> str:
    return ",".join(web.root for web in webs)


def fetched(workers: Sequence[Worker]) -> Counter[str]:
    return Counter(url for worker in workers for url in worker.pages())


def members_pages(webs: Sequence[MembersWeb]) -> set[str]:
    return {f"{web.root}{path}" for web in webs for path in ("/", *(f"/page/{n}" for n in range(PAGES)))}


def values(redis: Server) -> bytes:
    """All that Redis has, in one."""
    with redis.client() as client:
        client.config_set("rdbcompression", "no")
        return b"".join(key + client.dump(key) for key in client.scan_iter())


def sessions_of(worker: Worker, webs: Sequence[MembersWeb]) -> set[str]:
    """Which a worker has on disk."""
    file = worker.folder / "job" / "session" / "cookies.txt"
    text = file.read_text() if file.exists() else ""
    return {name for web in webs for name in web.all_sessions if name in text}


def test_each_logs_in_where_it_works(webs: list[MembersWeb], redis: Server, tmp_path: Path) -> None:
    """Every page comes once, and for members. A worker has its own sessions and no other's, and Redis has none."""
    with fleet(tmp_path, 2, seeds(webs), redis.url, SITECRAWL_SHEETS=sheets(webs)) as workers:
        assert [worker.wait() for worker in workers] == [0, 0], workers[0].log
        assert fetched(workers) == Counter(members_pages(webs))
        assert all(1 <= web.logins <= 2 for web in webs)
        assert all(web.logouts == web.refused_logins == 0 for web in webs)
        one, other = (sessions_of(worker, webs) for worker in workers)
        assert not one & other
        assert one | other == {name for web in webs for name in web.all_sessions}
        kept = values(redis)
        for secret in (PASSWORD, *one, *other):
            assert secret.encode() not in kept
            assert not [worker for worker in workers if secret in worker.log]


def test_a_worker_that_is_lost(webs: list[MembersWeb], redis: Server, tmp_path: Path) -> None:
    """Who takes over its sites logs in at them, and fetches what is left; nothing is fetched logged out."""
    given = {"SITECRAWL_SHEETS": sheets(webs), "SITECRAWL_LEASE_SECONDS": 2}
    for web in webs:
        web.opens.clear()
    with fleet(tmp_path, 1, seeds(webs), redis.url, **given) as (lost,):
        until(lambda: all(any("/page/" in path for path in web.paths()) for web in webs), "it is in everywhere")
        lost.kill()
        for web in webs:
            web.opens.set()
        with fleet(tmp_path / "new", 1, seeds(webs), redis.url, **given) as (new,):
            assert new.wait(PATIENCE) == 0, new.log
            assert set(fetched([lost, new])) == members_pages(webs)
            assert [(web.logins, web.refused_logins) for web in webs] == [(2, 0)] * len(webs)
            assert "Traceback" not in new.log
