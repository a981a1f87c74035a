"""The tables of a crawl by many workers: each gives the rows of its part, and the page puts them together."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Final

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.cluster.board import Board
from sitecrawl.plugins.dashboard.merging import MERGES, merged
from sitecrawl.plugins.dashboard.questions import Question, pack_answer, read_answer
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
