"""Our commands as every project has them in whose environment sitecrawl is installed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from crawling import PROJECT, environment
from scrapy.settings import Settings

from sitecrawl.console.entry_points import Later, commands_are_here

SCRAPYS = {"crawl", "settings", "genspider", "version"}
"""Scrapy's own commands with more."""


def entries() -> dict[str, str]:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    found: dict[str, str] = project["entry-points"]["scrapy.commands"]
    return {name: value for name, value in found.items() if name not in SCRAPYS}


def test_every_command_is_there() -> None:
    """But for those that are Scrapy's in another form, and the one that runs a spider of ours."""
    files = {path.stem for path in (PROJECT / "sitecrawl" / "commands").glob("*.py")} - {"__init__"}
    assert {*entries()} == files - SCRAPYS - {"keywordhunter"}


@pytest.mark.parametrize(("name", "place"), entries().items())
def test_each_becomes_its_command(name: str, place: str) -> None:
    """As soon as Scrapy asks for anything."""
    module, _, attribute = place.partition(":")
    later = getattr(import_module(module), attribute)()
    assert isinstance(later, Later)
    assert later.syntax()
    assert type(later) is import_module(f"sitecrawl.commands.{name}").Command


def test_none_is_loaded_before() -> None:
    """Scrapy makes all of them whatever it is asked to do."""
    code = f"""
import sys
from importlib import import_module
for place in {[*entries().values()]}:
    module, _, name = place.partition(":")
    getattr(import_module(module), name)()
print(*sorted(name for name in sys.modules if name.startswith("sitecrawl.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["sitecrawl.console", "sitecrawl.console.entry_points"]


def test_where_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In our project, and where sitecrawl is installed: what is only on the path brings none."""
    monkeypatch.setattr("sitecrawl.console.entry_points.entry_points", lambda **_: ())
    assert commands_are_here(Settings({"COMMANDS_MODULE": "sitecrawl.commands"}))
    assert not commands_are_here(Settings({"COMMANDS_MODULE": ""}))
