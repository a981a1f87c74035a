"""Whether there is a compiled core, and what is said of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from compiled_core import in_c
from crawling import PROJECT, environment
from installed import copy_of_project

from sitecrawl.base import compiled

LOOK = "from sitecrawl.base import compiled; print(compiled.native is None, compiled.IN_USE, sep='|')"


def looked(folder: Path = PROJECT, **changes: str) -> str:
    """What a Python of its own says, which finds the sitecrawl of `folder` first, whatever this one is to do."""
    return subprocess.run(
        [sys.executable, "-c", LOOK],
        env=environment(**{compiled.PURE: ""} | changes),
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def test_it_is_used_where_it_is() -> None:
    """Without being asked for."""
    in_c()
    assert looked(SITECRAWL_PURE="") == looked(SITECRAWL_PURE="0") == "False|yes"


def test_python_alone() -> None:
    """A variable of the environment has everything done in Python, and the words say so."""
    assert looked(SITECRAWL_PURE="1") == "True|no, SITECRAWL_PURE is set"


def built(project: Path, compiler: str) -> list[Path]:
    """What an installation of `project` makes of the C."""
    words = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", "--force"]
    subprocess.run(words, cwd=project, env=environment(CC=compiler), check=True, capture_output=True)
    return list((project / "sitecrawl").rglob("*.so"))


@pytest.mark.deep
def test_an_installation_without_a_compiler(tmp_path: Path) -> None:
    """It is as good as any, has no C, and says so; with a compiler there is one file, for every later Python."""
    in_c()
    project = copy_of_project(tmp_path / "project")
    assert built(project, "/nowhere/cc") == []
    assert looked(project, PYTHONPATH=str(project)).startswith("True|no, it was not built here")
    assert [file.name for file in built(project, "cc")] == ["_native.abi3.so"]
    assert looked(project, PYTHONPATH=str(project)) == "False|yes"


def test_one_that_was_never_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a compiler sitecrawl works, in Python, and says why."""
    monkeypatch.setitem(sys.modules, "sitecrawl.base._native", None)
    native, words = compiled.load("")
    assert native is None
    assert words.startswith("no, it was not built here")


def test_one_of_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an earlier checkout has left built, and has other functions, is not used."""
    other = ModuleType("sitecrawl.base._native")
    vars(other)["INTERFACE"] = compiled.INTERFACE + 1
    monkeypatch.setitem(sys.modules, "sitecrawl.base._native", other)
    assert compiled.load("") == (None, "no, another version of sitecrawl has built it: install this one again")
