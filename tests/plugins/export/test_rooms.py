"""Folders beside a file that is being made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from crawling import PROJECT

from sitecrawl.plugins.export.rooms import room_beside

WORKS = """
import sys
from pathlib import Path
from sitecrawl.plugins.export.rooms import room_beside

with room_beside(Path(sys.argv[1])) as room:
    (room / "links").mkdir()
    print(room.name, flush=True)
    sys.stdin.read()
"""


def at_work(target: Path) -> subprocess.Popen[str]:
    """A process that works in a room beside `target` until its standard input ends."""
    words = [sys.executable, "-c", WORKS, str(target)]
    return subprocess.Popen(words, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_what_a_killed_process_left_goes_and_what_a_live_one_has_stays(tmp_path: Path) -> None:
    """The next one takes away what nobody works in any more, and nothing else."""
    users = tmp_path / ".graph.arcs.mine"
    users.mkdir()
    target = tmp_path / "graph.arcs"
    with at_work(target) as live, at_work(target) as killed:
        assert live.stdout is not None
        assert killed.stdout is not None
        name, left = live.stdout.readline().strip(), killed.stdout.readline().strip()
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert (tmp_path / left / "links").exists()
        with room_beside(tmp_path / "other.wacz") as room:
            assert {path.name for path in tmp_path.iterdir()} == {name, room.name, users.name}
            assert (tmp_path / name / "links").exists()
        live.communicate()
    assert list(tmp_path.iterdir()) == [users]
