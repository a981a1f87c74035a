"""Ctrl-C before anything runs that handles it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from crawling import PROJECT, environment, scrapy_command
from waiting import PATIENCE, until

from sitecrawl.console import named


def writer_of(fifo: Path) -> int | None:
    """Its other end, once somebody has begun to read it, who then waits for what never comes."""
    try:
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return None


def test_a_command_that_is_interrupted(tmp_path: Path) -> None:
    """It says so in one line, and ends by the signal, for whoever waits for it."""
    fifo = tmp_path / "job.toml"
    os.mkfifo(fifo)
    command = scrapy_command("job", "check", str(fifo))
    with subprocess.Popen(command, cwd=PROJECT, env=environment(), stderr=subprocess.PIPE, text=True) as run:
        writer = until(lambda: writer_of(fifo), "the job file to be read")
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=PATIENCE)
        os.close(writer)
    assert said == "scrapy: interrupted\n"
    assert run.returncode == -signal.SIGINT


def test_what_else_goes_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It has its traceback, and somebody else's hook stays."""
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    named._in_a_line()
    sys.excepthook(ValueError, ValueError("wrong"), None)
    assert capsys.readouterr().err == "ValueError: wrong\n"
    monkeypatch.setattr(sys, "excepthook", print)
    named._in_a_line()
    assert sys.excepthook is print
