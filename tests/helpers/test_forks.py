"""The helper that runs `scrapy` in forks: they are told apart, and end as any process."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from crawling import environment
from forks import Server, start
from localweb import LocalWeb, linked
from silence import silent
from waiting import PATIENCE


def test_what_a_command_prints_and_how_it_ends(tmp_path: Path) -> None:
    """Output and errors have files of their own, or share one; the exit code is the command's."""
    out, errors = tmp_path / "out", tmp_path / "errors"
    assert start(["version"], environment(), out, errors).wait(PATIENCE) == 0
    assert (out.read_text().partition(" ")[0], errors.read_text()) == ("Scrapy", "")
    assert start(["crawl", "nobody"], environment(), out, errors).wait(PATIENCE) == 2
    assert "There is no spider 'nobody'" in errors.read_text()
    assert start(["crawl", "nobody"], environment(), out).wait(PATIENCE) == 2
    assert "There is no spider 'nobody'" in out.read_text()


def test_another_folder(tmp_path: Path) -> None:
    """Paths are those of the folder that it runs in, as it sees them."""
    (tmp_path / "empty").mkdir()
    words = ["pages", "-d", "empty"]
    assert start(words, environment(), tmp_path / "out", folder=tmp_path).wait(PATIENCE) == 1
    assert "empty holds no stored pages" in (tmp_path / "out").read_text()


def test_words_are_seen_as_those_of_a_process(tmp_path: Path) -> None:
    """The summary names the command that goes on, as it was given."""
    with LocalWeb({"/": linked("/a"), "/a": "a"}) as web:
        words = ["crawl", "generic", "-a", f"seeds={web.root}/", "-a", "max_pages=1", "-s", f"JOBDIR={tmp_path}/job"]
        assert start(words, environment(), tmp_path / "log").wait(PATIENCE) == 0
    assert f"-m scrapy {' '.join(words)}" in (tmp_path / "log").read_text()


def test_two_at_once(tmp_path: Path) -> None:
    """Each has an end of its own: a signal ends one, and the other goes on."""
    with silent("127.0.0.1") as port:
        words = ["crawl", "generic", "-a", f"seeds=http://127.0.0.1:{port}/", "-s"]
        logs = [tmp_path / "a.log", tmp_path / "b.log"]
        one, other = (start([*words, f"JOBDIR={log}.job"], environment(), log) for log in logs)
        assert one.pid != other.pid
        with pytest.raises(subprocess.TimeoutExpired):
            one.wait(0)
        one.kill()
        assert one.wait(PATIENCE) == -signal.SIGKILL
        assert other.poll() is None
        other.kill()
        assert other.wait(PATIENCE) == -signal.SIGKILL


ENDS = "import sys; sys.exit('It has no more to say')"
BEGINS = "import os; input(); print(f'[{os.getpid()}, null]', flush=True); "


def test_a_server_that_ends_is_not_waited_for(tmp_path: Path) -> None:
    """Whoever orders something of it is told its last words, and so is whoever comes after that."""
    server = _server(tmp_path, ENDS)
    for _ in range(2):
        with pytest.raises(AssertionError, match="It has no more to say"):
            server.start([])
    server.close()


@pytest.mark.parametrize("end", [ENDS, "print('It has no more to say', flush=True); input()"], ids=["ends", "raves"])
def test_a_fork_of_a_server_that_ends_is_not_waited_for(tmp_path: Path, end: str) -> None:
    """Nobody will say how it ends."""
    server = _server(tmp_path, BEGINS + end)
    fork = server.start([])
    with pytest.raises(AssertionError, match="It has no more to say"):
        fork.wait(PATIENCE)
    assert fork.poll() is None
    server.close()


def _server(folder: Path, program: str) -> Server:
    path = folder / "server.py"
    path.write_text(program)
    return Server(path)
