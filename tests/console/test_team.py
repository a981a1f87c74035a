"""What a person sees of many workers, from what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from sitecrawl.console.status_line import StatusLine
from sitecrawl.console.team import Team


def test_workers_that_do_not_begin(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Why is said once where they say it; of one that ended without a word its log is named, whatever others say."""
    team = Team(tmp_path, StatusLine(live=False, interval=0, aloud=False))
    for worker in ("worker-1", "worker-2"):
        team.heard(worker, {"error": "it is \x1b[31m taken"})
        team.ended(worker, 1, again=False, wanted=False)
    team.ended("worker-3", 1, again=False, wanted=False)
    team.ended("worker-4", -2, again=False, wanted=True)
    assert capsys.readouterr().err == "sitecrawl: it is \\x1b[31m taken\n"
    assert caplog.messages == [f"worker-3 ended with exit code 1: {tmp_path}/worker-3.log says why"]
