"""The log as JSON lines."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

from crawling import crawl
from localweb import LocalWeb, linked

from sitecrawl.crawl.json_log import _JsonFormatter


def test_a_record_is_one_line() -> None:
    """Whatever stands in the message: line breaks, quotes, any script; with the traceback of what was raised."""
    try:
        int("no\nuse")
    except ValueError:
        record = logging.LogRecord("a.b", logging.ERROR, "f", 1, 'say "%s"\nß', ("x",), sys.exc_info())
    record.created = 0.5
    line = _JsonFormatter().format(record)
    assert "\n" not in line
    told = json.loads(line)
    assert told.pop("exception").startswith("Traceback")
    assert told == {
        "time": "1970-01-01T00:00:00.500+00:00",
        "level": "ERROR",
        "logger": "a.b",
        "message": 'say "x"\nß',
    }


def test_a_crawls_log(tmp_path: Path) -> None:
    """From the add-on's first words to the end of the crawl every line is an object of its own."""
    log = tmp_path / "log.jsonl"
    with LocalWeb({"/": linked("/gone"), "/robots.txt": ""}) as web:
        done = crawl(web.root, tmp_path / "job", SITECRAWL_LOG_JSON=True, LOG_LEVEL="INFO", LOG_FILE=log)
    assert done.returncode == 0, done.stderr
    lines = log.read_text().splitlines()
    begun = next(number for number, line in enumerate(lines) if line.startswith("{"))
    told = [json.loads(line) for line in lines[begun:] if not line.startswith((" ", "{'"))]
    assert {"sitecrawl.addon", "scrapy.core.engine", "sitecrawl.scheduler"} <= {line["logger"] for line in told}
    assert told[-1]["message"] == "Spider closed (finished)"
