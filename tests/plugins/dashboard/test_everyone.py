"""Tables of a crawl by many workers: what one asks, what the others answer, and what is made of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from redis_servers import Server, server
from waiting import PATIENCE

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.cluster.board import Board
from sitecrawl.cluster.connection import connect_async
from sitecrawl.cluster.keys import Keys
from sitecrawl.cluster.steps import Steps
from sitecrawl.plugins.dashboard import everyone
from sitecrawl.plugins.dashboard.everyone import (
    MAX_ANSWER,
    MAX_QUESTION,
    EveryTable,
    Question,
    pack_answer,
    read_answer,
)
from sitecrawl.plugins.dashboard.merging import MAX_OFFSET, merged
from sitecrawl.plugins.dashboard.tables import Fields, Row

NAMES = ("one", "two", "three")


@pytest.fixture(scope="module")
def redis() -> Iterator[Server]:
    with server() as started:
        yield started


class Peer:
    """A worker that has so many errors of a kind of its own; `hears` is whether it looks at the board."""

    def __init__(self, name: str, redis: Server, crawl: str) -> None:
        self.name = name
        self.hears = True
        self.is_over = False
        self.asked: list[Fields] = []
        self.board = Board(Steps(connect_async({"url": redis.url}, cluster=False), Keys(crawl, 1)), name)
        self.tables = EveryTable({"errors": self.errors}, self.board, self.others)

    async def errors(self, fields: Fields) -> Row:
        self.asked.append(fields)
        return {"rows": [{"kind": self.name, "count": 1, "examples": []}], "total": 1}

    async def others(self) -> dict[str, str]:
        return {name: f"the worker {name}" for name in NAMES if name != self.name}

    async def live(self) -> None:
        while not self.is_over:
            if self.hears and (news := await self.board.tell("{}", read=False)) is not None:
                self.tables.hear(news.questions)
            await asyncio.sleep(0.01)


def among(redis: Server, crawl: str, story: Callable[[dict[str, Peer]], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        peers = {name: Peer(name, redis, crawl) for name in NAMES}
        lives = [asyncio.create_task(peer.live()) for peer in peers.values()]
        try:
            await story(peers)
        finally:
            for life, peer in zip(lives, peers.values(), strict=True):
                peer.is_over = True
                await life  # not cancelled: a connection is not left in the middle of a command
                peer.tables.close()
                await peer.board.close()

    asyncio.run(run())


def kinds(table: Row) -> list[str]:
    return sorted(row["kind"] for row in table["rows"])


async def until_table(peer: Peer, wanted: tuple[list[str], list[str]]) -> None:
    """A machine that is busy may be late: so it is asked again."""
    found, until = None, time.monotonic() + PATIENCE
    while found != wanted and time.monotonic() < until:
        table = await peer.tables.named["errors"]({})
        found = kinds(table), table["missing"]
    assert found == wanted


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """All have the time that they need."""
    monkeypatch.setattr(everyone, "PATIENCE", PATIENCE)


def test_all_answer(redis: Server) -> None:
    """Each once, whoever asks; nothing of it stays on Redis."""

    async def story(peers: dict[str, Peer]) -> None:
        for asking in peers.values():
            table = await asking.tables.named["errors"]({"q": "é"})
            assert kinds(table) == sorted(NAMES)
            assert table["missing"] == []
        assert all(peer.asked == [{"q": "é"}] * 3 for peer in peers.values())

    among(redis, "all", story)
    with redis.client() as client:
        assert all(client.pttl(key) > 0 for key in client.keys("sitecrawl:{all.0}:*"))


def test_one_is_silent(redis: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left out after some seconds, and named; also if what it says is no answer."""
    monkeypatch.setattr(everyone, "PATIENCE", 0.5)

    async def story(peers: dict[str, Peer]) -> None:
        one, two, _ = peers.values()
        two.hears = False
        wanted = ["one", "three"], ["the worker two"]
        await until_table(one, wanted)
        babbles.set()
        life = asyncio.create_task(babble(two, one))
        await until_table(one, wanted)
        babbles.clear()
        await life  # not cancelled: a connection is not left in the middle of a command
        two.hears = True
        monkeypatch.setattr(everyone, "PATIENCE", PATIENCE)
        await until_table(one, (sorted(NAMES), []))

    async def babble(peer: Peer, asking: Peer) -> None:
        while babbles.is_set():
            await peer.board.answer(asking.tables._heard[-1], "[1e999")
            await asyncio.sleep(0.01)

    babbles = asyncio.Event()
    among(redis, "silent", story)


def test_redis_is_away(redis: Server) -> None:
    """What is here is shown, and who is missing."""

    async def story(peers: dict[str, Peer]) -> None:
        asking = peers["one"]
        for peer in peers.values():
            peer.hears = False
        await asking.board.close()
        asking.board._steps.client = connect_async({"url": "redis://127.0.0.1:1/0"}, cluster=False)
        table = await asking.tables.named["errors"]({})
        assert (kinds(table), len(table["missing"])) == (["one"], 2)

    among(redis, "away", story)


def test_too_many_questions(redis: Server) -> None:
    """So many stand at a time; more are not put, and what is here is shown."""

    async def story(peers: dict[str, Peer]) -> None:
        board = peers["one"].board
        put = [await board.ask(Question.new("errors", {"n": str(n)}).pack()) for n in range(40)]
        assert put == [True] * 32 + [False] * 8

    among(redis, "many", story)


def test_what_cannot_be_answered(redis: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """What all refuse is refused; a worker that has closed its files says nothing."""

    async def refuse(_: Fields) -> Row:
        raise OptionError("There is no order 'none'")

    async def fail(_: Fields) -> Row:
        raise StorageError("The database is closed")

    async def story(peers: dict[str, Peer]) -> None:
        peers["two"].tables._tables = {"errors": fail}
        with pytest.raises(StorageError):
            await peers["two"].tables.named["errors"]({})
        monkeypatch.setattr(everyone, "PATIENCE", 0.5)
        await until_table(peers["one"], (["one", "three"], ["the worker two"]))
        monkeypatch.setattr(everyone, "PATIENCE", PATIENCE)
        for peer in peers.values():
            peer.tables._tables = {"errors": refuse}
        with pytest.raises(OptionError, match="There is no order 'none'"):
            await peers["one"].tables.named["errors"]({})

    among(redis, "refused", story)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"\xff",
        b"[" * 3_000,
        b'["0123456789abcdef", "hosts"]',
        b'["0123456789abcdef", "hosts", []]',
        b'["0123456789abcdef", "hosts", {"q": 1}]',
        b'[["0123456789abcdef"], "hosts", {}]',
        b'["0123456789abcdef", 7, {}]',
        b'["x:0123456789abcd", "hosts", {}]',
        b'["0123456789abcdef", "hosts", {"q": "' + b"x" * MAX_QUESTION + b'"}]',
    ],
)
def test_no_question(text: bytes) -> None:
    """What cannot be one is none."""
    assert Question.read(text) is None


def test_a_question_is_what_it_was() -> None:
    question = Question.new("hosts", {"q": "ä\u202e<b>", "limit": "5"})
    assert Question.read(question.pack().encode()) == question


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"\xff", b'{"rows": [NaN]}', b'{"total": 1e999}', b'{"n": 1' + b"0" * 50 + b"}", b"[" * 9_000],
)
def test_no_answer(text: bytes) -> None:
    """What the page could not be sent is no answer."""
    assert read_answer(text) is None


def test_an_answer_that_is_odd() -> None:
    """Rows are rows, and the total is a number, whatever was written."""
    answer = read_answer(b'{"rows": [1, {"host": "a"}, "b"], "total": "many"}')
    assert answer == {"rows": [{"host": "a"}], "total": 0}


def test_a_long_answer() -> None:
    """The last rows are left out, and that is said."""
    rows = [{"url": "x" * 1_000, "n": n} for n in range(1_000)]
    answer = read_answer(pack_answer({"rows": rows, "total": 1_000}).encode())
    assert answer is not None
    assert answer["cut"]
    assert answer["rows"] == rows[: len(answer["rows"])]
    assert 100 < len(answer["rows"]) < MAX_ANSWER // 1_000
    assert merged("hosts", {}, [answer])["cut"]
    assert json.loads(pack_answer({"host": "x" * MAX_ANSWER})) == {"error": "The answer is too long"}


class TestMerging:
    def part(self, *rows: Any, **more: Any) -> Row:
        return {"rows": list(rows), "total": len(rows), "cost": 0.1, **more}

    def test_in_order(self) -> None:
        """As one process sorts and cuts them; what is in two parts is shown once."""
        one = self.part(*({"host": f"a{n}", "waiting": n, "next": n} for n in range(9, 0, -2)))
        two = self.part(*({"host": f"a{n}", "waiting": n, "next": n} for n in (9, 8, 6, 4, 2)), cost=0.3)
        found = merged("hosts", {"offset": "2", "limit": "3"}, [one, two])
        assert [row["waiting"] for row in found["rows"]] == [7, 6, 5]
        assert (found["total"], found["offset"], found["cost"]) == (10, 2, 0.3)
        found = merged("hosts", {"sort": "next", "limit": "2"}, [one, two])
        assert [row["next"] for row in found["rows"]] == [1, 2]

    def test_errors(self) -> None:
        """Counts of a kind add up, and the last examples of all are shown."""
        parts = [
            self.part({"kind": "404", "count": 6, "examples": [{"url": f"{name}{n}", "at": n} for n in range(6)]})
            for name in "ab"
        ]
        found = merged("errors", {}, [*parts, self.part({"kind": "timed out", "count": 20, "examples": "x"})])
        assert [(row["kind"], row["count"]) for row in found["rows"]] == [("timed out", 20), ("404", 12)]
        assert [one["at"] for one in found["rows"][1]["examples"]] == [5, 5, 4, 4, 3, 3, 2, 2]

    def test_text_in_the_place_of_numbers(self) -> None:
        """It counts as 0."""
        rows = [{"host": "a", "waiting": "many"}, {"host": ["b"], "waiting": None}, {}]
        assert len(merged("hosts", {}, [self.part(*rows)])["rows"]) == 3
        assert merged("errors", {}, [self.part({"count": "x"})])["rows"] == [
            {"kind": "None", "count": 0, "examples": []}
        ]

    def test_too_far_down(self) -> None:
        """Each worker would have to send all that comes before."""
        with pytest.raises(OptionError, match=f"offset goes up to {MAX_OFFSET}"):
            merged("hosts", {"offset": str(MAX_OFFSET + 1)}, [self.part()])

    def test_an_answer(self) -> None:
        """Of who knows the URL; if nobody can answer, the page says what one process says."""
        found = merged("why", {}, [{"error": "closed"}, {"known": False, "url": "a"}, {"known": True, "url": "b"}])
        assert found["url"] == "b"
        with pytest.raises(OptionError, match="no URL"):
            merged("why", {}, [{"error": "no URL"}] * 2)
