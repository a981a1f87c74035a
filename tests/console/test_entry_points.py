"""Our commands as every project has them in whose environment sitecrawl is installed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import EntryPoints
from pathlib import Path

import pytest
from crawling import PROJECT, environment
from scrapy.utils.misc import load_object

from sitecrawl.base.plugins import found
from sitecrawl.console import named
from sitecrawl.console.entry_points import Later, commands_are_here

SCRAPYS = {"crawl", "settings", "genspider"}
"""Scrapy's own commands with more."""


def entries() -> dict[str, str]:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    found: dict[str, str] = project["entry-points"]["scrapy.commands"]
    return {name: value for name, value in found.items() if name not in SCRAPYS}


def test_every_command_is_there() -> None:
    """But for those that are Scrapy's in another form, and the one that runs a spider of ours."""
    files = {path.stem for path in (PROJECT / "sitecrawl" / "console" / "commands").glob("*.py")} - {"__init__"}
    of_plugins = {name for plugin in found().values() for name in plugin.commands}
    assert {*entries()} == (files | of_plugins) - SCRAPYS


@pytest.mark.parametrize(("name", "place"), entries().items())
def test_each_becomes_its_command(name: str, place: str) -> None:
    """As soon as Scrapy asks for anything."""
    module, _, attribute = place.partition(":")
    later = getattr(import_module(module), attribute)()
    assert isinstance(later, Later)
    assert later.syntax()
    of_plugins = {name: path for plugin in found().values() for name, path in plugin.commands.items()}
    assert type(later) is load_object(of_plugins.get(name, f"sitecrawl.console.commands.{name}.Command"))


@pytest.mark.parametrize("name", sorted(SCRAPYS - {"genspider"}))
def test_scrapys_own(name: str) -> None:
    """They are this project's alone, and become their commands, too; what they ask for is known before."""
    module = import_module(f"{named.__name__}.{name}")
    (kind,) = (found for found in vars(module).values() if getattr(found, "__module__", None) == module.__name__)
    later, command = kind(), import_module(f"sitecrawl.console.commands.{name}").Command
    assert isinstance(later, Later)
    assert later.requires_project == command.requires_project
    later.syntax()
    assert type(later) is command


def test_none_is_loaded_before() -> None:
    """Scrapy makes all of them whatever it is asked to do."""
    code = f"""
import sys
from importlib import import_module
from importlib.metadata import EntryPoints
for place in {[*entries().values()]}:
    module, _, name = place.partition(":")
    getattr(import_module(module), name)()
for name in {sorted(SCRAPYS - {"genspider"})}:
    import_module("{named.__name__}." + name)
print(*sorted(name for name in sys.modules if name.startswith("sitecrawl.") and "named" not in name))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, env=environment(), capture_output=True, text=True, check=True
    )
    base = [f"sitecrawl.base{name}" for name in ("", ".errors", ".plugins", ".setting")]
    light = [*base, "sitecrawl.console", "sitecrawl.console.entry_points"]
    assert done.stdout.split() == light


def test_where_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where sitecrawl is installed: what is only on the path brings none."""
    assert commands_are_here()
    monkeypatch.setattr("sitecrawl.console.entry_points.installed", lambda _group: EntryPoints())
    assert not commands_are_here()
