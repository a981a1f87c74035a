"""FTP servers, where many workers share a crawl: whoever has the site fetches what it lists."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from crawling import scrapy
from fleet import fleet, stored
from local_ftp import LocalFtp
from redis_servers import Server

pytestmark = pytest.mark.deep

FILES = {f"/{number % 3}/file{number}": b"%d" % number for number in range(12)}


def test_servers_are_shared_out(redis: Server, tmp_path: Path) -> None:
    """Every folder and file of all of them is stored once, by whatever worker."""
    with ExitStack() as stack:
        servers = [stack.enter_context(LocalFtp(FILES, address=f"127.0.0.{number}")) for number in range(1, 5)]
        seeds = ",".join(server.root for server in servers)
        arguments = ("ftp=1", "scope=any")
        with fleet(tmp_path, 2, seeds, redis.url, arguments=arguments) as workers:
            assert [worker.wait() for worker in workers] == [0, 0], workers[0].log + workers[1].log
            pages = stored(workers)
    paths = ["/", "/0/", "/1/", "/2/", *FILES]
    assert pages == {f"{server.root}{path}": 1 for server in servers for path in paths}
    checked = scrapy("check-crawl", redis.url, *(str(worker.folder / "job") for worker in workers))
    assert checked.returncode == 0, checked.stdout + checked.stderr
