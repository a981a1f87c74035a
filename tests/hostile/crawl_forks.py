"""Runs `scrapy` commands in forks of one process that has everything imported: a second less for each.

    python crawl_forks.py

Reads a JSON array of words and the path of a log from each line; answers with the fork's process id, and when it has
ended with its exit code.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    sys.path.insert(0, str(Path.cwd()))
    import scrapy.cmdline

    import middlewares
    import pipelines
    import sitecrawl.addon
    import sitecrawl.settings
    import sitecrawl.spiders.generic

    assert all((scrapy.cmdline, middlewares, pipelines, sitecrawl.addon, sitecrawl.settings))
    for line in sys.stdin:
        words, log = json.loads(line)
        child = os.fork()
        if not child:
            run(words, log)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def run(words: list[str], log: str) -> None:
    from scrapy.cmdline import execute

    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(out, 1)
    os.dup2(out, 2)
    try:
        execute(["scrapy", *words])
    except SystemExit as left:
        os._exit(left.code if isinstance(left.code, int) else 1)
    finally:
        os._exit(70)


if __name__ == "__main__":
    main()
