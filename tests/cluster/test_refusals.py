"""What many workers cannot do is refused when it is asked for: nobody would see the difference."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from console import command
from crawling import scrapy
from fleet import two_workers
from localweb import Answer, LocalWeb, linked
from redis_servers import Server
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler
from waiting import until

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.cluster import join as join_module
from sitecrawl.cluster.address import ClusterOptions
from sitecrawl.cluster.join import join
from sitecrawl.crawl import sharing
from sitecrawl.crawl.components import own_class
from sitecrawl.crawl.found_urls import _pushed_request
from sitecrawl.spiders.generic import GenericSpider

XML = {"Content-Type": "application/xml"}


class TestSettings:
    @pytest.mark.parametrize(
        ("name", "value", "why"),
        [
            ("SITECRAWL_ORDER", "deepest", "no order 'deepest'"),
            ("SITECRAWL_CLUSTER_CRAWL", "a}b", "without braces"),
            ("SITECRAWL_CLUSTER_CRAWL", "a b", "without braces"),
            ("SITECRAWL_CLUSTER_CRAWL", "x" * 201, "200 characters"),
        ],
    )
    def test_a_wrong_one(self, name: str, value: str, why: str) -> None:
        """What Redis would take for something else is refused here."""
        given = {"SITECRAWL_CLUSTER": "redis://127.0.0.1:1", name: value}
        with pytest.raises(OptionError, match=why):
            sharing.cluster(Settings(given), "generic")


class TestHabits:
    """What users of scrapy-redis set is answered by one line, which says what to set here."""

    def refused(self, **settings: str) -> str:
        crawler = get_crawler(GenericSpider, {"ADDONS": {"sitecrawl.addon.Addon": 500}, **settings})
        with pytest.raises(OptionError) as refused:
            GenericSpider.from_crawler(crawler)
        assert "\n" not in str(refused.value)
        return str(refused.value)

    def test_its_scheduler(self) -> None:
        assert "SITECRAWL_CLUSTER=True" in self.refused(SCHEDULER="scrapy_redis.scheduler.Scheduler")

    def test_its_filter(self) -> None:
        with pytest.raises(OptionError, match="SITECRAWL_CLUSTER=True"):
            own_class(Settings({"DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter"}))

    def test_its_redis_alone(self, redis: Server) -> None:
        """Where seeds wait they are named; where none do, or no Redis answers, there are none."""
        assert "seeds is empty" in self.refused(REDIS_URL=redis.url)
        assert "seeds is empty" in self.refused(REDIS_URL="redis://127.0.0.1:1/0")
        with redis.client() as client:
            client.rpush("generic:start_urls", "http://a.example/")
        told = self.refused(REDIS_URL=redis.url)
        assert "Seeds wait in generic:start_urls" in told
        assert "SITECRAWL_CLUSTER=True" in told


@pytest.mark.parametrize(
    ("fields", "url", "body"),
    [
        ({"meta": {"k": 1}}, "http://a.example/", b""),
        ({"method": "post", "body": "x"}, "http://a.example/", b"x"),
        ({"method": "POST", "q": "x", "n": [1, 2]}, "http://a.example/", b"q=x&n=1&n=2"),
        ({"q": 5}, "http://a.example/?q=5", b""),
    ],
)
def test_a_seed_of_json(fields: dict[str, object], url: str, body: bytes) -> None:
    """As scrapy-redis makes a request of it: what it does not know is data of a form."""
    request = _pushed_request("http://a.example/", fields)
    assert (request.url, request.body, request.meta) == (url, body, fields.get("meta", {}))


class TestJoining:
    def options(self, redis: Server, **more: str) -> ClusterOptions:
        return ClusterOptions({"url": redis.url, **more}, "test", spider="generic", shards=2)

    def test_another_spiders_crawl(self, redis: Server) -> None:
        """A worker of another spider could do nothing with the requests that wait."""
        join(self.options(redis))
        with pytest.raises(OptionError, match=r"spider 'generic', not 'sitemap'.*SITECRAWL_CLUSTER_CRAWL"):
            join(ClusterOptions({"url": redis.url}, "test", spider="sitemap", shards=2))

    def test_redis_that_cannot_be_written(self, redis: Server) -> None:
        """A replica, and a user without rights: one error of ours."""
        with redis.client() as client:
            client.replicaof("127.0.0.1", 1)
            try:
                with pytest.raises(StorageError, match="refuses the crawl"):
                    join(self.options(redis))
            finally:
                client.replicaof("NO", "ONE")
            client.execute_command("ACL", "SETUSER", "weak", "on", ">secret", "~nothing:*", "+@all")
        with pytest.raises(StorageError, match="no permission") as refused:
            join(ClusterOptions({"url": f"redis://127.0.0.1:{redis.port}/0?username=weak&password=secret"}, "test"))
        assert "secret" not in str(refused.value)

    @pytest.mark.parametrize("given", ["", ":wrong@"])
    def test_no_password_or_a_wrong_one(self, redis: Server, given: str) -> None:
        """One line says where it is written, and not what it was."""
        with redis.client() as client:
            client.config_set("requirepass", "right")
            try:
                url = f"redis://{given}127.0.0.1:{redis.port}/0"
                with pytest.raises(StorageError, match="wants another name and password: redis://") as refused:
                    join(ClusterOptions({"url": url}, "test"))
                assert "wrong" not in str(refused.value)
            finally:
                client.config_set("requirepass", "")

    @pytest.mark.deep
    def test_redis_that_is_full(self, redis: Server) -> None:
        """It is waited for: whoever starts then goes on as soon as there is room."""
        with redis.client() as client, ThreadPoolExecutor(1) as pool:
            client.config_set("maxmemory", "1")
            try:
                joining = pool.submit(join, self.options(redis))
                until(lambda: client.info("stats")["total_error_replies"] > 2, "it has tried")
                assert not joining.done()
            finally:
                client.config_set("maxmemory", "0")
            assert joining.result(30).options == self.options(redis)

    @pytest.mark.deep
    def test_an_end_while_it_is_full(self, redis: Server, monkeypatch: pytest.MonkeyPatch) -> None:
        """Who waits for it can be ended, whatever Scrapy does at a signal: its loop does not run yet."""
        old = signal.signal(signal.SIGTERM, lambda *_: None)
        pauses: list[float] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            assert len(pauses) < 3, "it has waited on"
            os.kill(os.getpid(), signal.SIGTERM)

        monkeypatch.setattr(join_module.time, "sleep", sleep)
        with redis.client() as client:
            client.config_set("maxmemory", "1")
            try:
                with pytest.raises(StorageError, match="ended while it waited for Redis"):
                    join(self.options(redis))
            finally:
                client.config_set("maxmemory", "0")
                given = signal.signal(signal.SIGTERM, old)
        assert given is not old, "Scrapy's is in its place again"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, redis_server: Server) -> Path:
    """The directory of a crawl by two workers that has ended, and its site's address in the file `root`."""
    place = tmp_path_factory.mktemp("shared")

    def pages(path: str, host: str) -> Answer | str | None:
        listed = f"<urlset><url><loc>http://{host}/a</loc></url></urlset>".encode()
        if path == "/robots.txt":
            return Answer(f"Sitemap: http://{host}/s.xml\n".encode())
        return Answer(listed, 200, XML) if path == "/s.xml" else linked() if path in {"/", "/a"} else None

    with LocalWeb(pages) as web:
        words = ("-a", "sitemaps=1", "-a", f"seeds={web.root}/")
        settings = {"SITECRAWL_DELAY_FACTOR": 0, **two_workers(redis_server.url, place)}
        done = scrapy("crawl", "generic", *words, settings=settings)
        assert done.returncode == 0, done.stderr
        (place / "root").write_text(web.root)
    return place


class TestCommands:
    @pytest.mark.deep
    def test_sitemaps_of_all_workers(self, place: Path, redis_server: Server) -> None:
        """Whichever worker has read a sitemap: it is listed, and shown, from the directories or from Redis."""
        sitemap = (place / "root").read_text() + "/s.xml"
        listed = command("sitemaps", "-d", str(place), "--format", "urls")
        assert (listed.stdout, listed.stderr) == (f"{sitemap}\n", "")
        for where in (("-d", str(place)), ("-s", f"SITECRAWL_CLUSTER={redis_server.url}")):
            assert command("sitemaps", *where, "--format", "urls").stdout == f"{sitemap}\n"
            shown = command("sitemaps", *where, "show", sitemap)
            assert shown.returncode == 0
            assert sitemap in shown.stdout

    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (("sitemaps", "-d", "{}", "add", "http://a.example/s.xml"), "such as {}/worker-1"),
            (("frontier", "-d", "{}"), "-s SITECRAWL_CLUSTER=URL"),
            (("frontier", "-d", "{}/worker-1"), "-s SITECRAWL_CLUSTER=URL"),
            (("rank", "-d", "{}/worker-2"), "-s SITECRAWL_CLUSTER=URL"),
            (("report", "{}/worker-1"), "SITECRAWL_CLUSTER=URL"),
            (("check-crawl", "{}"), "such as {}/worker-1"),
        ],
    )
    @pytest.mark.deep
    def test_what_has_no_answer_here(self, words: tuple[str, ...], why: str, place: Path) -> None:
        """One line that says what to do, instead of an empty list."""
        done = command(*(word.format(place) for word in words))
        assert done.returncode > 0
        assert why.format(place) in done.stderr
        assert done.stderr.count("\n") == 1
