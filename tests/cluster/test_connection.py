"""Connections to a Redis as it is run: with TLS, behind sentinels, with rights that are only just enough."""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from certificates import Authority
from console import command
from crawling import PROJECT, scrapy
from fleet import two_workers
from localweb import LocalWeb, linked
from redis_servers import Sentinel, Server, program, server, valkey, watched
from stalling import Proxy

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.cluster.connection import closed_is_away, connect, connect_async

SITE = {"/": linked("/a", "/b"), "/a": "a", "/b": "b"}
QUICK = {"SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_CLUSTER_SHARDS": 2}


@pytest.fixture(scope="module")
def redis_server() -> Iterator[Server]:
    with server() as started:
        yield started


def crawl_and_look(url: str, folder: Path) -> None:
    """A crawl by a fleet, and all commands that take the URL of a Redis: none of them has anything to object."""
    with LocalWeb(SITE) as web:
        settings = {**QUICK, **two_workers(url, folder)}
        done = scrapy("crawl", "generic", "-a", f"seeds={web.root}/", settings=settings)
        assert done.returncode == 0, done.stderr + (folder / "worker-1.log").read_text()
        assert set(web.paths()) == {"/", "/a", "/b"}
    checked = command("check-crawl", url, str(folder))
    assert checked.returncode == 0, checked.stderr + checked.stdout
    assert "is sound" in checked.stdout
    read = command("rank", "-d", str(folder), "-s", f"SITECRAWL_CLUSTER={url}")
    assert read.returncode == 0, read.stderr


class TestTls:
    @pytest.fixture
    def authority(self, tmp_path: Path) -> Authority:
        return Authority(tmp_path)

    @pytest.fixture
    def served(self, authority: Authority, redis_server: Server) -> Iterator[Proxy]:
        """By TLS, to who shows a certificate of the same authority."""
        with redis_server.client() as client:
            client.flushall()
        context = tls_of(authority.issue("localhost", "127.0.0.1"))
        context.load_verify_locations(authority.file)
        context.verify_mode = ssl.CERT_REQUIRED
        with Proxy(redis_server.port, tls=context) as proxy:
            yield proxy

    def test_a_crawl(self, authority: Authority, served: Proxy, tmp_path: Path) -> None:
        """All commands take an authority of one's own, and a certificate to show."""
        shows, key = authority.issue("worker")
        url = f"{served.url}?ssl_ca_certs={authority.file}&ssl_certfile={shows}&ssl_keyfile={key}"
        crawl_and_look(url, tmp_path / "crawl")

    @pytest.mark.deep
    def test_what_is_not_trusted(self, authority: Authority, served: Proxy, tmp_path: Path) -> None:
        """One line says so, and what to do: of a stranger's certificate, and of ours that is missing."""
        settings = {"SITECRAWL_CLUSTER": served.url, "JOBDIR": tmp_path / "job"}
        refused = scrapy("crawl", "generic", "-a", "seeds=http://127.0.0.1:1/", settings=settings)
        assert refused.returncode == 1
        (line,) = [line for line in refused.stderr.splitlines() if "is not trusted" in line]
        assert "?ssl_ca_certs=FILE" in line
        assert "Traceback" not in refused.stderr
        with pytest.raises(StorageError, match=re.escape("?ssl_certfile=FILE&ssl_keyfile=FILE")):
            connect({"url": f"{served.url}?ssl_ca_certs={authority.file}"})
        with pytest.raises(OptionError, match=r"ssl_ca_certs of .* there is no such file"):
            connect({"url": f"{served.url}?ssl_ca_certs={tmp_path}/none"})

    def test_name_of_the_host(self, authority: Authority, redis_server: Server) -> None:
        """It has to be that of the certificate, unless the URL says otherwise."""
        with Proxy(redis_server.port, tls=tls_of(authority.issue("elsewhere.example"))) as proxy:
            url = f"{proxy.url}?ssl_ca_certs={authority.file}"
            with pytest.raises(StorageError, match=r"not trusted: .*mismatch.* by the name in the certificate"):
                connect({"url": url})
            with connect({"url": f"{url}&ssl_check_hostname=false"}) as client:
                assert client.ping()


def tls_of(files: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    return context


class TestSentinels:
    def test_one_is_enough(self) -> None:
        """One that is away does not matter. If none answers, or none knows the master, one line names them."""
        with watched() as servers:
            with connect({"url": servers.url}) as client:
                assert client.info("replication")["role"] == "master"
            for url in (servers.url.replace(Sentinel.SERVICE, "other"), "redis+sentinel://127.0.0.1:1/crawl"):
                where = re.escape(url)
                with pytest.raises(StorageError, match=f"Redis at {where} .*no sentinel that answers knows a master"):
                    connect({"url": url})


class TestRights:
    @pytest.mark.deep
    @pytest.mark.parametrize("runs", [program, valkey])
    def test_those_that_the_documentation_names(self, runs: Callable[[], str], tmp_path: Path) -> None:
        """They are enough for a crawl, for its check and repair, and for what reads it; on Valkey as well."""
        text = (PROJECT / "docs" / "scaling.md").read_text(encoding="utf-8")
        (rights,) = re.findall(r"^(resetchannels ~[^`]*?)$", text, re.MULTILINE)
        with server(runs=runs()) as started, started.client() as client:
            client.execute_command("ACL", "SETUSER", "crawler", "on", ">secret", *rights.split())
            crawl_and_look(f"redis://crawler:secret@127.0.0.1:{started.port}/0", tmp_path / "crawl")
            # redis-py says who it is (CLIENT SETINFO), and does without where it may not.
            assert [entry for entry in client.acl_log() if entry["object"] != "client"] == []


class TestAnotherServer:
    @pytest.mark.deep
    def test_it_is_heard_of(self) -> None:
        """The first new connection to a Redis that was restarted is refused: it may have forgotten things."""

        async def run() -> None:
            client = connect_async({"url": started.url}, cluster=False)
            assert await client.ping()
            started.close()
            started.start()
            for reason in ("closed by server", "restarted"):
                with pytest.raises(redis.ConnectionError, match=reason):
                    await client.ping()
            assert await client.ping()
            await client.aclose()

        with server() as started:
            asyncio.run(run())


def test_a_connection_that_was_closed_is_away() -> None:
    """Whoever writes to it hears so by an error of uvloop's own, which is none of redis-py's."""

    async def write() -> None:
        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as listening:
            _, writer = await asyncio.open_connection(*listening.sockets[0].getsockname())
            writer.transport.abort()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            writer.writelines([b"PING"])

    uvloop = pytest.importorskip("uvloop")
    with (
        pytest.raises(redis.ConnectionError, match="closed"),
        closed_is_away(),
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        runner.run(write())
    with pytest.raises(RuntimeError, match="another"), closed_is_away():
        raise RuntimeError("another one")
