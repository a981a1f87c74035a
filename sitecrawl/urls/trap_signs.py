"""Signs of bot traps in URLs, before anything is fetched.

A sign is evidence against the section of a URL, never a filter, because there are good pages with such URLs. Heritrix
drops URLs whose folders repeat (`PathologicalPathDecideRule`), StormCrawler, too (`BasicURLFilter`).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from sitecrawl.base.expressions import expression
from sitecrawl.urls.url import target_of

MAX_REPEATS: Final = 2
"""How often a segment may stand in a path."""
FIRST_YEAR: Final = 1970
"""First plausible year of a calendar."""
YEARS_AHEAD: Final = 3
"""For how many years from now a calendar may have pages."""

_YEAR: Final = expression(r"\d{4}")
_YEAR_AND_MORE: Final = expression(r"(?:^|[/=_-])(\d{4})[/_-](?:0?[1-9]|1[0-2])(?:$|[/?&_-])")
_YEAR_KEY: Final = expression(r"[?&](?:y|yr|year|cal_?year|yearid)=(\d{4,6})(?:&|$)", re.IGNORECASE)


def looks_like_a_trap(url: str, year: int) -> bool:
    """Whether the path of `url` has empty segments or one again and again, or it names a year far from `year`."""
    target = target_of(url)
    path = target.partition("?")[0]
    return "//" in path or _repeats(path) or _is_far(target, year)


def _repeats(path: str) -> bool:
    if path.count("/") <= MAX_REPEATS:
        return False
    segments = [segment for segment in path.split("/") if segment]
    return max(Counter(segments).values(), default=0) > MAX_REPEATS


def _is_far(target: str, year: int) -> bool:
    if _YEAR.search(target) is None:
        return False
    years = [*_YEAR_KEY.findall(target), *_YEAR_AND_MORE.findall(target)]
    return any(not FIRST_YEAR <= int(found) <= year + YEARS_AHEAD for found in years)
