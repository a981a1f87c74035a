"""What a worker's page asks the others, and what they answer: rows of a table, as JSON.

Whoever may write into that Redis may have written it: what is not as it should be is no question, or no answer.
"""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from sitecrawl.plugins.dashboard.streams import to_json
from sitecrawl.plugins.dashboard.tables import Fields, Row

MAX_QUESTION: Final = 4_000
"""Bytes."""
MAX_ANSWER: Final = 256_000
"""Bytes. Of an answer that is longer the last rows are left out."""
_GREATEST: Final = 1e30
_DEPTH: Final = 6
_NUMBER: Final = re.compile(r"[0-9a-f]{16}")


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


def number_of(value: object) -> float:
    """`value`, if it is a number; else 0."""
    return value if isinstance(value, int | float) else 0


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
