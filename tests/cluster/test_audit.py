"""What is spoilt on Redis is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis
from cluster_helpers import Steps, link, outcome, seed
from crawling import scrapy
from redis_servers import Server

from sitecrawl.cluster.audit import audit
from sitecrawl.cluster.repair import repair
from sitecrawl.cluster.shards import pack, unpack


@pytest.fixture
def steps(redis: Server) -> Iterator[Steps]:
    """A crawl of one shard with URLs that wait, one that is lent and one that is done."""
    with redis.client() as client:
        crawl = Steps(client, shards=1)
        crawl.add(seed("http://a.example/"), seed("http://b.example/"))
        (first, *_) = crawl.lease(0, want=1)
        links = [link(f"http://a.example/{number}") for number in range(5)]
        assert crawl.send(crawl.parcel(0, [outcome(first, first[6][0], *links)])) == 1
        crawl.release(0, first)
        assert crawl.lease(0, want=1)
        yield crawl


def spoil_type(steps: Steps, base: str) -> None:
    steps.client.delete(base + "hosts")
    steps.client.set(base + "hosts", "x")


def spoil_record(steps: Steps, base: str) -> None:
    steps.client.hset(base + "urls", steps.client.hkeys(base + "urls")[0], b"\xc1")


def spoil_count(steps: Steps, base: str) -> None:
    steps.client.hincrby(base + "state", "waiting", 3)


def spoil_credit(steps: Steps, base: str) -> None:
    key = steps.client.hkeys(base + "urls")[0]
    record = unpack(steps.client.hget(base + "urls", key))
    record[4] += 1
    steps.client.hset(base + "urls", key, pack(record))


def spoil_queue(steps: Steps, base: str) -> None:
    queue = next(name for name in steps.client.scan_iter(count=10_000) if b"}:q:" in name)
    steps.client.zpopmin(queue)


def spoil_host(steps: Steps, base: str) -> None:
    steps.client.hdel(base + "hosts", "a.example")


def spoil_done(steps: Steps, base: str) -> None:
    (name,) = (name for name in steps.client.scan_iter(count=10_000) if b"}:done:" in name)
    steps.client.hset(name, b"x", b"y")


def spoil_section(steps: Steps, base: str) -> None:
    steps.client.hdel(base + "sections", *steps.client.hkeys(base + "sections"))


def spoil_lease(steps: Steps, base: str) -> None:
    steps.client.delete(base + "leases")


def spoil_best(steps: Steps, base: str) -> None:
    """Nothing of the host would be fetched any more."""
    steps.client.delete(base + "best:a.example", base + "best:b.example")


def spoil_number(steps: Steps, base: str) -> None:
    steps.client.hset(base + "state", "serial", "12x")


def forget_done(steps: Steps, base: str) -> None:
    """What is done would be fetched again."""
    steps.client.delete(*(name for name in steps.client.scan_iter(count=10_000) if b"}:done:" in name))


def spoil_sessions(steps: Steps, base: str) -> None:
    """It is of another type: no worker is alive by it."""
    steps.client.set(base + "sessions", "x")


def spoil_facts(steps: Steps, base: str) -> None:
    steps.client.hset(base + "crawl", "mine", "x")


def spoil_outbox(steps: Steps, base: str) -> None:
    steps.client.hset(base + "out:one", "one:1:0", b"\xc1")


def spoil_deadline(steps: Steps, base: str) -> None:
    """The worker would be waited for to the end of time."""
    steps.client.zadd(base + "starting", {"one": 9e15})


def spoil_name(steps: Steps, base: str) -> None:
    steps.client.set(base + "mine", 1)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_type, "hosts is a string, not a hash"),
        (spoil_record, "urls: the record of "),
        (spoil_count, "state: waiting is "),
        (spoil_credit, "The credit of the crawl 'test' is "),
        (spoil_queue, "neither lent, nor waits"),
        (spoil_host, "there is no host for http://a.example/"),
        (spoil_done, ": x cannot be read"),
        (spoil_name, "mine is no key of the crawl"),
        (spoil_section, "sections: there is no section for "),
        (spoil_lease, " is not whole"),
        (spoil_best, "best:*: the section "),
        (spoil_number, "state: serial is no number"),
        (forget_done, "done:*: 0 URLs, not 1"),
        (spoil_sessions, "sessions is a string, not a zset"),
        (spoil_facts, "crawl: mine is not as other shards have it"),
        (spoil_outbox, "out:one: one:1:0 cannot be read"),
        (spoil_deadline, "starting: one never ends"),
    ],
)
def test_each_fault_is_named_and_mended(
    steps: Steps, redis: Server, spoil: Callable[[Steps, str], None], words: str
) -> None:
    """Before there is none; after, one line says which key it is, and a repair leaves none."""
    params = {"url": redis.url}
    steps.client.delete(steps.keys.base(0) + "sessions")
    assert audit(params, "test") == ([], False)
    spoil(steps, steps.keys.base(0))
    faults, _ = audit(params, "test")
    assert any(words in fault for fault in faults), faults
    assert all("sitecrawl:{test.0}:" in fault or "credit" in fault for fault in faults)
    found = repair(params, "test", [])
    assert found.before == faults
    assert found.after == []
    assert audit(params, "test") == ([], False)


def test_while_workers_are_at_work(steps: Steps, redis: Server) -> None:
    """Counts change between two looks at them: only what stands by itself is checked."""
    assert audit({"url": redis.url}, "test") == ([], True)
    spoil_count(steps, steps.keys.base(0))
    assert audit({"url": redis.url}, "test") == ([], True)
    spoil_type(steps, steps.keys.base(0))
    faults, has_workers = audit({"url": redis.url}, "test")
    assert has_workers
    assert faults == ["sitecrawl:{test.0}:hosts is a string, not a hash"]


def test_the_command(steps: Steps, redis: Server) -> None:
    """It prints the faults, and its exit code says whether there are any."""
    steps.client.delete(steps.keys.base(0) + "sessions")
    settings = {"SITECRAWL_CLUSTER_CRAWL": "test"}
    sound = scrapy("check-crawl", redis.url, settings=settings)
    assert (sound.returncode, sound.stdout.strip()) == (
        0,
        f"The crawl 'test' on Redis at {redis.url} is sound",
    )
    spoil_type(steps, steps.keys.base(0))
    faulty = scrapy("check-crawl", redis.url, settings=settings)
    assert faulty.returncode == 1
    assert "- sitecrawl:{test.0}:hosts is a string, not a hash" in faulty.stdout
    nothing = scrapy("check-crawl", redis.url, settings={"SITECRAWL_CLUSTER_CRAWL": "other"})
    assert nothing.returncode == 2
    assert "There is no crawl 'other'" in nothing.stderr


def test_a_step_on_a_spoilt_key(steps: Steps) -> None:
    """Redis says so: a step is not half done."""
    base = steps.keys.base(0)
    before = steps.client.hgetall(base + "state")
    spoil_type(steps, base)
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        steps.add(link("http://a.example/new"))
    assert steps.client.hgetall(base + "state") == before
