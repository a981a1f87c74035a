"""`make test` runs what failed again, alone: only a test that fails twice fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from crawling import PROJECT

CONFTEST = """
from alone import pytest_configure
def pytest_addoption(parser): parser.addoption("--again", action="store_true")
"""
PASSES = "def test_passes(): pass\n"
FAILS = "def test_fails(): assert not 'twice'\n"
BY_CHANCE = """
from pathlib import Path
def test_by_chance():
    before = Path(__file__).with_name("before")
    if not before.exists():
        before.touch()
        raise AssertionError("the first time")
"""
FIXTURE_BY_CHANCE = """
import pytest
from pathlib import Path
@pytest.fixture
def chance():
    before = Path(__file__).with_name("fixture")
    if not before.exists():
        before.touch()
        raise AssertionError("the fixture")
@pytest.mark.parametrize("what", ["a b", "::["])
def test_with_it(chance, what): pass
"""
DIES = "import os\n" + BY_CHANCE.replace("raise AssertionError", "os._exit(1) #")
STOPS = BY_CHANCE.replace("AssertionError", "KeyboardInterrupt")
LATE = """
import gc
class Late:
    def __init__(self): self.me = self
    def __del__(self): raise ValueError("late")
def test_leaves(): Late()
def test_sweeps(): gc.collect()
"""
HANGS = """
import threading, pytest
def waits_beside(): threading.Event().wait()
@pytest.mark.timeout(0.2)
def test_hangs():
    threading.Thread(target=waits_beside, daemon=True).start()
    waits_beside()
"""


def run(folder: Path, *files: str, workers: int = 2) -> tuple[int, str]:
    """The exit status and the output of pytest over `files`, with the warnings and limits of the project."""
    (folder / "conftest.py").write_text(CONFTEST)
    for number, text in enumerate(files):
        (folder / f"test_{number}.py").write_text(text)
    options = ["-c", str(PROJECT / "pyproject.toml"), f"--rootdir={folder}", "-n", str(workers), "--again"]
    words = [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "pytest_timeout", *options, str(folder)]
    quick = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(words, cwd=folder, env=quick, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.deep
def test_what_passes_alone_is_flaky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test, or its fixture, that passes alone does not fail the run; name, seed and first failure are printed."""
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    code, output = run(tmp_path, BY_CHANCE, FIXTURE_BY_CHANCE, workers=1)
    assert code == 0, output
    assert "FLAKY test_0.py::test_by_chance seed=7" in output
    assert "AssertionError: the first time" in output
    assert "FLAKY test_1.py::test_with_it[" in output
    assert output.splitlines()[-1].strip("= ").startswith("1 passed, 2 flaky in ")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is printed of tests that end in all ways, and the run fails."""
    code, output = run(tmp_path_factory.mktemp("mixed"), PASSES, BY_CHANCE, FAILS, LATE, HANGS, workers=0)
    assert code == 1
    return output


def test_what_fails_twice_fails_the_run(mixed: str) -> None:
    """A true failure is one, beside a flaky test."""
    assert "FLAKY test_1.py::test_by_chance" in mixed
    assert mixed.count("FLAKY test_") == 1
    assert mixed.splitlines()[-1].strip("= ").startswith("2 failed, 3 passed, 1 warning, 1 flaky in ")


@pytest.mark.parametrize(
    ("text", "workers"),
    [
        pytest.param("import nothing_like_it\n", 0, marks=pytest.mark.deep),
        pytest.param("import nothing_like_it\n", 1, marks=pytest.mark.deep),
        (DIES, 1),
        pytest.param(STOPS, 0, marks=pytest.mark.deep),
    ],
    ids=["collection", "collection by workers", "worker dies", "interrupt"],
)
def test_no_second_try(text: str, workers: int, tmp_path: Path) -> None:
    """Whatever is no failure of a test fails the run at once, beside a test that would pass alone."""
    code, output = run(tmp_path, BY_CHANCE, text.replace('"before"', '"other"'), workers=workers)
    assert code in {1, 2}, output
    assert "FLAKY" not in output


@pytest.mark.deep
def test_many_failures_are_no_chance(tmp_path: Path) -> None:
    """More than ten failures are not tried again."""
    code, output = run(tmp_path, BY_CHANCE, *[FAILS] * 10, workers=0)
    assert code == 1
    assert "FLAKY" not in output
    assert "failed again" not in output


def test_rubbish_of_another_test_fails_none(mixed: str) -> None:
    """What the rubbish of one test says while another runs is a warning."""
    assert "PytestUnraisableExceptionWarning" in mixed
    assert "test_3.py::test_sweeps" in mixed.partition("warnings summary")[2].partition("short test summary")[0]
    assert "FAILED test_3.py" not in mixed


def test_a_test_that_hangs_shows_all_stacks(mixed: str) -> None:
    """At the time limit a test fails, with the stack of each of its threads, each time it is run."""
    assert "FAILED test_4.py::test_hangs" in mixed
    assert "Timeout (>0.2s)" in mixed
    assert mixed.count("in waits_beside") >= 2


def test_no_test_is_known_to_be_flaky() -> None:
    """A flaky test is mended: none is on the list."""
    listed = (PROJECT / ".ci" / "flaky.txt").read_text().splitlines()
    assert [line for line in listed if line and not line.startswith("#")] == []
