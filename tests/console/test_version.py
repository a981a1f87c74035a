"""Which version this is: one number, wherever it is said."""

from __future__ import annotations

import re
import tomllib

import pytest
import scrapy
from console import command
from crawling import PROJECT

from sitecrawl import __version__
from sitecrawl.plugins.keyword import keywordhunter

LINE = re.compile(
    rf"sitecrawl {re.escape(__version__)} \(Scrapy {re.escape(scrapy.__version__)}, Python 3\.\d+\.\d+\)\n"
)
COMMANDS = sorted({path.stem for path in (PROJECT / "sitecrawl").rglob("commands/*.py")} - {"__init__"})


def test_one_number() -> None:
    """What is installed is called as what says so of itself."""
    assert tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"] == __version__


def test_every_command() -> None:
    """One line on stdout, and nothing else happens."""
    for name in COMMANDS:
        done = command(name, "--version")
        assert done.returncode == 0, done.stderr
        assert LINE.fullmatch(done.stdout), name


def test_keywordhunter(capsys: pytest.CaptureFixture[str]) -> None:
    """Before it asks for START and KEYWORD."""
    with pytest.raises(SystemExit) as left:
        keywordhunter.main(["--version"])
    assert left.value.code == 0
    assert LINE.fullmatch(capsys.readouterr().out)
