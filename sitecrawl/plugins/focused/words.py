"""The words of a text.

They are runs of letters and digits without case; writing without spaces (Chinese, Japanese, Thai) goes by pairs of
characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

_MAX_TEXT: Final = 100_000
"""Characters of a text that are looked at: what a page is about, it says before."""

_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_SPACELESS}]+|[^\W_{_SPACELESS}]+")
_IS_SPACELESS = re.compile(f"[{_SPACELESS}]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def words(text: str) -> Iterator[str]:
    """The words of a text, in their order."""
    for run in _WORD.findall(text[:_MAX_TEXT].casefold()):
        if len(run) > 2 and _IS_SPACELESS.match(run):
            yield from (run[n : n + 2] for n in range(len(run) - 1))
        else:
            yield run


def url_text(url: str) -> str:
    """What a URL says, its host left out: `/docs/LeftJoin_2.html?page=3` speaks of docs, left, join, ..."""
    target = unquote(url.partition("://")[2].partition("/")[2])
    return _CAMEL.sub(" ", target)
