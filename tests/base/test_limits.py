"""The limits as the documents have them, and as they are set."""

from __future__ import annotations

import ast
import re
from collections import Counter

from crawling import PROJECT
from scrapy.settings import Settings

from sitecrawl.addon import Addon
from sitecrawl.base.limits import LIMITS
from sitecrawl.base.setting import Limit


def documented() -> list[list[str]]:
    """Setting, default, unit and statistic of every point of the list in docs/limits.md."""
    text = (PROJECT / "docs/limits.md").read_text(encoding="utf-8")
    row = re.compile(r"^- \*\*.+?\*\* \(`?(\w+)`?, `([^`]+)` ([^,]+), `([\w/]+)`\): .+$", re.MULTILINE)
    return [list(cells) for cells in row.findall(text)]


def test_every_limit_is_documented() -> None:
    """The list has each limit's setting, default, unit and statistic, in the order of the code, and no other."""
    rows = [(setting, ast.literal_eval(value), unit, stat) for setting, value, unit, stat in documented()]
    assert rows == [
        (limit.name, limit.default, limit.unit, limit.stat)
        if isinstance(limit, Limit)
        else ("fixed", limit.value, limit.unit, limit.stat)
        for limit in LIMITS
    ]
    assert text_rows() == len(rows)


def text_rows() -> int:
    text = (PROJECT / "docs/limits.md").read_text(encoding="utf-8")
    return sum(line.startswith("- **") and ", `limits/" in line for line in text.splitlines())


def test_the_default_is_set() -> None:
    """The add-on gives every limit the value that is documented."""
    settings = Settings()
    Addon().update_settings(settings)
    for limit in LIMITS:
        if isinstance(limit, Limit):
            assert settings.get(limit.name) == limit.default, limit.name


def test_every_limit_has_a_stat_of_its_own() -> None:
    """Two limits may share a setting, never a statistic."""
    assert set(Counter(limit.stat for limit in LIMITS).values()) == {1}
    assert all(limit.stat.startswith("limits/") for limit in LIMITS)
