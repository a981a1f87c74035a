"""The tables of a crawl by many workers: each gives the rows of its part, and the page puts them together.

What workers ask and answer is JSON on Redis. Whoever may write there may have written it: what is not as it should be
is no question, or no answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NoReturn

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.cluster.board import Board
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.shared_frontiers import board_of
from sitecrawl.plugins.dashboard.actions import ClusterActions
from sitecrawl.plugins.dashboard.cluster import ClusterMonitor
from sitecrawl.plugins.dashboard.looks import tables_of
from sitecrawl.plugins.dashboard.merging import MERGES, PART_ROWS, merged, number_of
from sitecrawl.plugins.dashboard.streams import Streams, to_json
from sitecrawl.plugins.dashboard.tables import Fields, Row, Table

PATIENCE: Final = 3.0
"""Seconds after which a worker that has not answered is left out."""
_LOOK: Final = 0.1
"""Seconds between two looks at who has answered."""
_AT_A_TIME: Final = 4
"""Questions that a worker looks for answers to."""
_REMEMBERED: Final = 256
"""Questions that were heard, and are not to be heard again."""

logger = logging.getLogger(__name__)

Others = Callable[[], Awaitable[Mapping[str, str]]]
"""The workers that are there but for this one: their names, by their sessions."""
MAX_QUESTION: Final = 4_000
"""Bytes."""
MAX_ANSWER: Final = 256_000
"""Bytes. Of an answer that is longer the last rows are left out."""
_GREATEST: Final = 1e30
_DEPTH: Final = 6
_NUMBER: Final = re.compile(r"[0-9a-f]{16}")


class EveryTable:
    """`tables` are those of this worker's part. Give `hear` what others ask, and call `close` in the end."""

    def __init__(self, tables: Mapping[str, Table], board: Board, others: Others) -> None:
        self._tables = tables
        self._board = board
        self._others = others
        self._heard: deque[str] = deque(maxlen=_REMEMBERED)
        self._answering: set[asyncio.Task[None]] = set()
        self.named: dict[str, Table] = {name: partial(self._of_all, name) for name in MERGES}

    # Asking

    async def _of_all(self, table: str, fields: Fields) -> Row:
        question = Question.new(table, MERGES[table].wanted(fields))
        self._heard.append(question.number)
        until, others = time.monotonic() + PATIENCE, await self._others()
        is_asked = bool(others) and await self._board.ask(question.pack())
        own = await self._part(question)
        answers = await self._answers(question, others, until) if is_asked else {}
        missing = sorted(others[session] for session in others.keys() - answers.keys())
        return {**merged(table, fields, [own, *answers.values()]), "missing": missing}

    async def _answers(self, question: Question, others: Mapping[str, str], until: float) -> dict[str, Row]:
        """Those that have come when all have, or it is too late for more."""
        found: dict[str, bytes] = {}
        while len(found) < len(others) and time.monotonic() < until:
            await asyncio.sleep(_LOOK)
            if await self._board.answered(question.number) > len(found):
                found = await self._board.answers(question.number)
        read = {session: read_answer(text) for session, text in found.items() if session in others}
        return {session: answer for session, answer in read.items() if answer is not None}

    # Answering

    def hear(self, questions: Iterable[bytes]) -> None:
        """Answer each once."""
        for text in questions:
            question = Question.read(text)
            if question is None or question.number in self._heard or len(self._answering) >= _AT_A_TIME:
                continue
            self._heard.append(question.number)
            task = asyncio.get_running_loop().create_task(self._answer(question))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def _answer(self, question: Question) -> None:
        try:
            await self._board.answer(question.number, pack_answer(await self._part(question)))
        except StorageError as error:  # the crawl has ended, and its files are closed
            logger.debug("%s", error)
        except Exception:
            logger.exception("Another worker's page cannot be answered")

    async def _part(self, question: Question) -> Row:
        """What there is here. Raises `StorageError`."""
        table = self._tables.get(question.table)
        try:
            return {"error": "There is no such table"} if table is None else await table(question.fields)
        except OptionError as error:
            return {"error": str(error)}

    def close(self) -> None:
        for task in self._answering:
            task.cancel()


@dataclass(frozen=True, slots=True)
class Question:
    """Which rows are wanted: what a URL of the page asks for."""

    number: str
    """Of 16 hexadecimal digits."""
    table: str
    fields: Fields

    @classmethod
    def new(cls, table: str, fields: Fields) -> Question:
        return cls(secrets.token_hex(8), table, fields)

    def pack(self) -> str:
        return to_json([self.number, self.table, dict(self.fields)])

    @classmethod
    def read(cls, text: bytes) -> Question | None:
        """What `pack` has written; None if it cannot be that."""
        found = _json(text, MAX_QUESTION)
        if not isinstance(found, list) or len(found) != 3:
            return None
        number, table, fields = found
        if not isinstance(fields, dict) or not all(isinstance(one, str) for one in (number, table, *fields.values())):
            return None
        return cls(number, table, fields) if _NUMBER.fullmatch(number) else None


def pack_answer(answer: Row) -> str:
    """`answer`, with fewer rows and `cut` if it would be too long."""
    text = to_json(answer)
    while len(text) > MAX_ANSWER:
        rows = answer.get("rows")
        if not rows:
            return to_json({"error": "The answer is too long"})
        answer = {**answer, "rows": rows[: len(rows) // 2], "cut": True}
        text = to_json(answer)
    return text


def read_answer(text: bytes) -> Row | None:
    """What another worker has answered; None if it cannot be that. Its rows are rows, `total` is a number."""
    found = _json(text, MAX_ANSWER)
    if not isinstance(found, dict):
        return None
    rows = [row for row in found.get("rows") or () if isinstance(row, dict)]
    return {**found, "rows": rows, "total": number_of(found.get("total"))}


def _json(text: bytes, most: int) -> Any:
    """None for what is no JSON, too long, or has something in it that the page must not be sent."""
    if len(text) > most:
        return None
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return found if _is_plain(found, _DEPTH) else None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _is_plain(value: object, depth: int) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(_is_plain(one, depth - 1) for one in inner)
    is_small = isinstance(value, int | float) and abs(value) < _GREATEST
    return value is None or isinstance(value, str) or is_small


def begin(
    runtime: Crawl, actions: ClusterActions, streams: Streams, spider: str, paused: Callable[[], str]
) -> tuple[ClusterMonitor, EveryTable]:
    """Watch the crawl with the others, and answer what they ask."""
    assert runtime.ours.team is not None
    assert runtime.joined is not None
    board = board_of(runtime.joined, runtime.peers.session)
    team = runtime.ours.team
    monitor = ClusterMonitor(runtime, team, board, actions, spider=spider, watched=lambda: len(streams) > 0)
    own = tables_of(runtime, monitor.meter, paused, PART_ROWS)
    tables = EveryTable(own, board, monitor.others)
    tables.named |= {name: own[name] for name in ("changes", "terms")}  # which are the same on all
    monitor.on_questions = tables.hear
    return monitor, tables
