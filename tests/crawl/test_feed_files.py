"""Feeds take part in checkpoints."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import forks
import pytest
from crawling import environment, with_settings
from localweb import LocalWeb, Page, linked
from waiting import PATIENCE, until

from sitecrawl.base.errors import StorageError
from sitecrawl.frontier.reader import FrontierReader
from sitecrawl.frontier.urls.record import UrlState


def is_done(jobdir: Path, url: str) -> bool:
    """Whether a checkpoint of the running crawl calls it fetched."""
    try:
        with FrontierReader(jobdir) as reader:
            return any((record.url, record.state) == (url, UrlState.FETCHED) for _, record in reader.records())
    except StorageError:  # there is no checkpoint yet
        return False


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_kill_costs_no_item(tmp_path: Path, form: str) -> None:
    """What a checkpoint calls done is in the feed, though its buffer is far from full."""
    feed, asked, killed = tmp_path / f"items.{form}", threading.Event(), threading.Event()

    def site(path: str, host: str) -> Page | None:
        if path == "/slow":
            asked.set()
            killed.wait(PATIENCE)
        return linked("/slow", title="first") if path == "/" else None

    with LocalWeb(site) as web:
        words = ("crawl", "generic", "-a", f"seeds={web.root}/", "-o", str(feed))
        given = with_settings(*words, settings={"JOBDIR": tmp_path / "job", "SITECRAWL_DELAY_FACTOR": 0})
        process = forks.start(given, environment(), tmp_path / "log")
        assert asked.wait(PATIENCE)
        until(lambda: is_done(tmp_path / "job", f"{web.root}/"), "a checkpoint with the first page")
        process.kill()
        process.wait(PATIENCE)
        killed.set()
    line = feed.read_text().splitlines()[form == "csv"]
    assert (json.loads(line)["url"] if form == "jsonl" else line.partition(",")[0]) == f"{web.root}/"
