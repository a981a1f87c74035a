"""docs/mission.md: every row has a command that is run, and what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

from sitecrawl.base.declared import SETTINGS
from sitecrawl.commands.crawl import Command  # noqa: F401 - what commands need is installed

PROJECT = Path(__file__).parents[2]
TEXT = (PROJECT / "docs" / "mission.md").read_text(encoding="utf-8")
TABLE, _, REST = TEXT.partition("## Other architectures")
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line.startswith("| ")][1:]
BLOCK = re.search(r"## Run every row\n\n```sh\n(.*?)```", REST, re.DOTALL)


def test_every_row_has_a_command() -> None:
    """It stands in the block that `test_commands_of_docs` runs, with the row's name behind it."""
    assert BLOCK is not None
    named = [line.rpartition(" # ")[2].strip() for line in BLOCK[1].splitlines()]
    assert named == [row[0] for row in ROWS]
    assert len(ROWS) > 25


def test_what_rows_name_is_there() -> None:
    """Modules and settings."""
    for row in ROWS:
        for path in re.findall(r"`((?:sitecrawl|middlewares|pipelines)/[\w/.]*)`", row[1]):
            assert (PROJECT / path).exists(), path
        for setting in re.findall(r"SITECRAWL_[A-Z_]+", row[2]):
            assert setting in SETTINGS, setting
