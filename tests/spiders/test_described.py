"""`scrapy crawl SPIDER --help`."""

from __future__ import annotations

from pathlib import Path

import pytest
from crawling import scrapy

from sitecrawl.plugins.jobs.job import _described
from sitecrawl.spiders.arguments import NAMES


@pytest.mark.parametrize(
    "words", [("generic", "--help"), ("-h", "generic"), ("-s", "LOG_LEVEL=INFO", "generic", "-h")]
)
def test_all_arguments_of_generic(words: tuple[str, ...]) -> None:
    """Each has a line of its own, behind Scrapy's options."""
    done = scrapy("crawl", *words)
    assert done.returncode == 0
    options, _, arguments = done.stdout.partition("Arguments of the spider generic")
    assert "-a NAME=VALUE" in options
    named = [line.split("=")[0].split()[-1] for line in arguments.splitlines() if line.startswith("  -a ")]
    assert named == [*NAMES]


def test_every_argument_is_described() -> None:
    """Each but `job`, which a job file has no key for."""
    assert {*NAMES} - _described().keys() == {"job"}


def test_arguments_of_its_own(tmp_path: Path) -> None:
    """They are named before those that all take; without a spider there are none."""
    assert scrapy("crawl", "keyword", "--help").stdout.count("-a keyword=") == 1
    assert "Arguments of" not in scrapy("crawl", "--help").stdout
