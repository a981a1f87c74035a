"""The commands that read a crawl, on one that many workers share through Redis."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from console import command
from ports import held_port
from redis_servers import Server
from sharing import ALL, CRAWL, HOSTS, Frozen, begin, dead, on_redis, stored, work

from sitecrawl.base.errors import FormatMismatch
from sitecrawl.cluster.copy import void_captures
from sitecrawl.pagestore.workers import WorkersReader


def on(redis: Server, *words: str) -> CompletedProcess[str]:
    return command(*words, "-s", f"SITECRAWL_CLUSTER={redis.url}", "-s", f"SITECRAWL_CLUSTER_CRAWL={CRAWL}")


def rows(said: CompletedProcess[str]) -> list[dict[str, str]]:
    assert said.returncode == 0, said.stderr
    return list(csv.DictReader(said.stdout.splitlines()))


@pytest.fixture
def workers(redis: Server, half_done: Frozen, tmp_path: Path) -> list[Path]:
    return half_done.thaw(tmp_path)


class TestFrontier:
    def test_what_waits(self, redis: Server, workers: list[Path]) -> None:
        """URLs, hosts, importance: as of a crawl in one process."""
        waiting = on(redis, "frontier", "--urls").stdout.split()
        known = rows(on(redis, "rank", "--limit", "100", "--format", "csv"))
        assert {row["url"] for row in known if row["state"] == "queued"} == set(waiting) < ALL
        units = rows(on(redis, "frontier", "--format", "csv"))
        assert sum(int(row["waiting"]) for row in units if not row["shape"]) == len(waiting)
        sites = rows(on(redis, "rank", "--sites", "--format", "csv", "--limit", "100"))
        assert sum(int(row["known"]) for row in sites) == len(known)

    def test_the_importance_of_stored_pages(self, redis: Server, workers: list[Path]) -> None:
        """An export has that of all workers' pages, as of a crawl in one process; without Redis it has none."""
        known = {
            row["url"]: row["importance"] for row in rows(on(redis, "rank", "--limit", "100", "--format", "csv"))
        }
        words = ["export", "-d", str(workers[0].parent), "--fields", "url,importance", "--format", "csv"]
        stored_pages = rows(on(redis, *words))
        assert len(stored_pages) == len({row["url"] for row in stored_pages}) > 3
        assert all(float(row["importance"]) == float(known[row["url"]]) for row in stored_pages)
        assert sum(float(row["importance"]) for row in stored_pages) > 0
        assert {row["importance"] for row in rows(command(*words))} == {""}

    def test_a_host(self, redis: Server, workers: list[Path]) -> None:
        """One that nobody knows is an error, which names the crawl."""
        assert rows(on(redis, "frontier", "--host", "h3.example", "--format", "csv"))[0]["host"] == "h3.example"
        said = on(redis, "frontier", "--host", "nowhere.example")
        assert (said.returncode, "shared knows no host 'nowhere.example'" in said.stderr) == (1, True)

    def test_what_is_held_back(self, redis: Server, workers: list[Path]) -> None:
        """With the URLs that were fetched of it, as long as there are none it is empty; so are rules."""
        assert on(redis, "frontier", "--demoted", "--format", "jsonl").stdout == ""
        assert on(redis, "frontier", "--rules", "--format", "jsonl").stdout == ""

    def test_why(self, redis: Server, workers: list[Path], tmp_path: Path) -> None:
        """Of what waits and of what was fetched, with the page that a worker has stored."""
        waiting = on(redis, "frontier", "--urls").stdout.split()[0]
        fetched = stored(workers[0])[0]
        for url, verdict in ((waiting, "waits"), (fetched, "fetched")):
            said = on(redis, "why", "-d", str(tmp_path), "--json", url)
            assert said.returncode == 0, said.stderr
            assert json.loads(said.stdout)["verdict"] == verdict

    def test_what_needs_a_directory(self, redis: Server) -> None:
        """Orders to a crawl are for one process."""
        begin(redis)
        said = on(redis, "frontier", "--trust-rule", "1@a.example")
        assert (said.returncode, "for the crawl of one process" in said.stderr) == (1, True)

    def test_a_workers_directory_says_where_to_look(self, redis: Server, workers: list[Path]) -> None:
        for directory in (workers[0], workers[0].parent):
            said = command("frontier", "-d", str(directory))
            assert (said.returncode, "-s SITECRAWL_CLUSTER=URL" in said.stderr) == (1, True)


class TestPages:
    def test_a_page_that_is_yet_to_be_told(self, redis: Server, workers: list[Path]) -> None:
        """It counts as long as its worker may tell it; not any more when another has had its partition."""
        before = stored(workers[0])
        with on_redis(redis) as crawl:
            assert void_captures(crawl, workers) == {workers[0]: set(), workers[1]: set()}
        work(redis, workers[1:])
        with on_redis(redis) as crawl:
            void = void_captures(crawl, workers)
        assert len(void[workers[0]]) == 3
        assert void[workers[1]] == set()
        with WorkersReader(workers[0].parent, void=void) as reader:
            shown = [capture.url for capture in reader.pages()]
            whose = {capture.url: reader.read(capture).body.split(b":")[0].decode() for capture in reader.pages()}
        assert sorted(shown) == sorted(ALL)
        assert {url for url, worker in whose.items() if worker == "worker-1"} == set(before[:-3])

    @pytest.mark.deep
    def test_the_commands(self, redis: Server, workers: list[Path], tmp_path: Path) -> None:
        """`pages`, `page` and `collect` ask Redis, where it can be asked: what is void is nowhere."""
        void = stored(workers[0])[-3:]
        dead(redis)
        work(redis, workers[1:], 25)
        dead(redis)
        here = ("-d", str(tmp_path))
        shown = [row["url"] for row in rows(on(redis, "pages", *here, "--format", "csv"))]
        assert len(shown) == len(set(shown))
        told = set(stored(workers[0])[:-3] + stored(workers[1]))
        assert set(shown) == told
        lost = [url for url in void if url not in told]
        assert lost, "no page that is void waits to be fetched again"
        assert on(redis, "page", *here, lost[0]).returncode == 1
        assert command("page", *here, lost[0]).returncode == 0
        assert on(redis, "collect", str(tmp_path), "-o", str(tmp_path / "all")).returncode == 0
        assert sorted(stored(tmp_path / "all")) == sorted(told)

    def test_without_redis(self, redis: Server, workers: list[Path], tmp_path: Path) -> None:
        """What is stored can be read all the same; it is said that nobody could be asked."""
        with held_port() as port:
            named = ("-d", str(tmp_path), "-s", f"SITECRAWL_CLUSTER=redis://127.0.0.1:{port}")
            said = command("pages", *named, "--format", "csv")
        assert {row["url"] for row in rows(said)} == {*stored(workers[0]), *stored(workers[1])}
        assert "cannot be reached" in said.stderr

    def test_another_crawls_directory(self, redis: Server, workers: list[Path]) -> None:
        with redis.client() as client:
            for name in client.keys("*:crawl"):
                client.hset(name, "key", "11" * 16)
        with on_redis(redis) as crawl, pytest.raises(FormatMismatch, match="does not belong to the crawl 'shared'"):
            void_captures(crawl, workers[:1])


def test_a_report(redis: Server, workers: list[Path], tmp_path: Path) -> None:
    """Of all workers together, with their pages where they are here."""
    file = tmp_path / "report.html"
    assert on(redis, "report", str(tmp_path), "-o", str(file)).returncode == 0
    whole = file.read_text()
    assert "<h1>shared</h1>" in whole
    assert all(f"h{host}.example" in whole for host in range(HOSTS))
    assert "text/html" in whole
    assert on(redis, "report", "-o", str(file)).returncode == 0
    assert "<h1>shared</h1>" in file.read_text()
