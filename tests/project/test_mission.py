"""docs/mission.md: every row has a command that is run, and what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

from sitecrawl.base.declared import SETTINGS
from sitecrawl.console.commands.crawl import Command  # noqa: F401 - what commands need is installed

PROJECT = Path(__file__).parents[2]
TEXT = (PROJECT / "docs" / "mission.md").read_text(encoding="utf-8")
TABLE, _, REST = TEXT.partition("## Other architectures")
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if re.match(r"\| \d+ \|", line)]
BLOCK = re.search(r"## Run every row\n\n```sh\n(.*?)```", REST, re.DOTALL)
VERDICTS = ("As written", "Option", "Otherwise")


def test_every_row_has_a_command() -> None:
    """One in the block that `test_commands_of_docs` runs, with the row's number behind it."""
    assert BLOCK is not None
    named = [int(n) for line in BLOCK[1].splitlines() for n in line.rpartition(" # ")[2].split(",")]
    assert sorted(named) == [int(row[0]) for row in ROWS] == list(range(1, len(ROWS) + 1))
    assert len(ROWS) >= 92


def test_every_row_has_a_verdict() -> None:
    """In the words that are explained above the table."""
    assert [row for row in ROWS if not any(word in row[2] for word in VERDICTS)] == []


def test_what_rows_name_is_there() -> None:
    """Settings; and each row names a test or a benchmark of its statement, or leads to what was measured."""
    for row in ROWS:
        named = re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)`", row[2])
        assert named or "](" in row[2], row
        assert [path for path in named if not (PROJECT / path).exists()] == [], row
        for setting in re.findall(r"SITECRAWL_[A-Z_]+", row[2]):
            assert setting in SETTINGS, setting
