"""Rows of pages that are new, changed, gone or moved; and of the rounds that have found them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any, Final

from sitecrawl.base.display import one_line
from sitecrawl.console.listing import Layout
from sitecrawl.pagestore.printing import time_of
from sitecrawl.pagestore.rounds import Round
from sitecrawl.plugins.export.changes import Change
from sitecrawl.plugins.export.formats import iso_of

_COLUMNS: Final = ("change", "url", "fetched", "before", "status", "title", "to")


def _facts(change: Change) -> dict[str, Any]:
    now, before = change.now.capture, change.before
    return {
        "change": change.what,
        "url": now.url,
        "fetched": iso_of(now.fetched),
        "before": None if before is None else iso_of(before.capture.fetched),
        "status": now.status,
        "title": now.title if now.kind == "page" or before is None else before.capture.title,
        "to": now.redirect_to,
    }


def _with_diff(change: Change) -> dict[str, Any]:
    return {**_facts(change), "diff": "\n".join(change.diff())}


def _line(change: Change) -> str:
    now = change.now.capture
    led = f" -> {one_line(now.redirect_to)}" if now.redirect_to else ""
    return f"{change.what:<8}  {time_of(now)}  {now.status:>6}  {one_line(now.url)}{led}"


def _lines(change: Change) -> str:
    return "\n".join([_line(change), *(f"    {one_line(line)}" for line in change.diff())])


_HEADER: Final = f"{'change':<8}  {'fetched (UTC)':<19}  {'status':>6}  url"
CHANGES: Final = Layout(_HEADER, _line, _COLUMNS, _facts)
WITH_DIFFS: Final = Layout(_HEADER, _lines, (*_COLUMNS, "diff"), _with_diff)


def _round(found: Round) -> str:
    began = datetime.fromtimestamp(found.began, UTC)
    return f"{found.number:>5}  {began:%Y-%m-%d %H:%M:%S}  {found}{', not finished' if found.is_open else ''}"


def _of_round(found: Round) -> Mapping[str, Any]:
    ended = None if found.is_open else iso_of(found.ended)
    return {**asdict(found), "began": iso_of(found.began), "ended": ended}


ROUNDS: Final = Layout(
    f"{'round':>5}  {'began (UTC)':<19}  found", _round, [field.name for field in fields(Round)], _of_round
)
