"""Signs of bot traps in URLs, before anything is fetched.

Each sign is evidence against the section of a URL, never a filter, because there are good pages with such URLs. The
signs are those for which Heritrix (`PathologicalPathDecideRule`, `TooManyPathSegmentsDecideRule`) and StormCrawler
(`BasicURLFilter`) drop URLs, and calendars.
"""

from __future__ import annotations

import re
from collections import Counter
from enum import Enum
from typing import Final

from sitecrawl.base.expressions import expression
from sitecrawl.urls.url import target_of

MAX_SEGMENTS: Final = 20
MAX_KEYS: Final = 10
MAX_LENGTH: Final = 1024
MAX_REPEATS: Final = 2
"""Most repetitions of a path segment in a path, or of a group of them in a row."""
YEARS: Final = (1970, 3)
"""First plausible year of a calendar, and how many years ahead the last one is."""


class TrapSign(Enum):
    """Why a URL looks like one of a trap."""

    REPEATED_SEGMENTS = "a path segment stands in the path again and again"
    EMPTY_SEGMENTS = "the path has empty segments"
    DEEP_PATH = f"the path has more than {MAX_SEGMENTS} segments"
    MANY_KEYS = f"the query has more than {MAX_KEYS} keys, or one of them three times"
    LONG = f"the URL has more than {MAX_LENGTH:,} characters"
    FAR_DATE = f"a date before {YEARS[0]} or more than {YEARS[1]} years ahead"


_YEAR_AND_MORE = expression(r"(?:^|[/=_-])(\d{4})[/_-](\d{1,2})(?:$|[/?&_-])")
_YEAR_KEY = expression(r"[?&](?:y|yr|year|cal_?year|yearid)=(\d{4,6})(?:&|$)", re.IGNORECASE)


def trap_signs(url: str, year: int) -> list[TrapSign]:
    """Signs of a trap in `url`; `year`: the current one."""
    target = target_of(url)
    path, _, query = target.partition("?")
    found = _path_looks(path)
    if query.count("&") >= MAX_REPEATS and _has_many_keys(query):
        found.append(TrapSign.MANY_KEYS)
    if len(url) > MAX_LENGTH:
        found.append(TrapSign.LONG)
    if _is_far(target, year):
        found.append(TrapSign.FAR_DATE)
    return found


def _path_looks(path: str) -> list[TrapSign]:
    found = []
    if "//" in path:
        found.append(TrapSign.EMPTY_SEGMENTS)
    if path.count("/") > MAX_REPEATS:
        segments = [segment for segment in path.split("/") if segment]
        if len(segments) > MAX_SEGMENTS:
            found.append(TrapSign.DEEP_PATH)
        if segments and max(Counter(segments).values()) > MAX_REPEATS:
            found.append(TrapSign.REPEATED_SEGMENTS)
    return found


def _has_many_keys(query: str) -> bool:
    keys = Counter(part.partition("=")[0] for part in query.split("&") if part)
    return len(keys) > MAX_KEYS or max(keys.values(), default=0) > MAX_REPEATS


def _is_far(target: str, year: int) -> bool:
    years = [int(y) for y in _YEAR_KEY.findall(target)]
    years += [int(y) for y, month in _YEAR_AND_MORE.findall(target) if 1 <= int(month) <= 12]
    return any(not YEARS[0] <= y <= year + YEARS[1] for y in years)
