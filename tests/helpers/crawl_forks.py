"""Runs `scrapy` commands in forks of one process that has everything imported: 1.5 s of a processor less for each.

    python crawl_forks.py

Reads a JSON array from each line: the command's words, its environment, the folder where it runs, and the paths where
its output and its errors go. `KeywordHunter` in the place of a command is the program of that name. Answers with the
fork's process id, and when it has ended with its exit code. `forks` has the other side.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import sys
from pathlib import Path

IMPORTED = (
    "middlewares",
    "pipelines",
    "scrapy.commands",
    "scrapy.downloadermiddlewares",
    "scrapy.spidermiddlewares",
    "sitecrawl.commands",
    "sitecrawl.console",
    "sitecrawl.dashboard",
    "sitecrawl.extensions",
    "sitecrawl.scheduler",
    "sitecrawl.spiders",
    "sitecrawl.webhooks",
)
"""Modules, and packages with all their modules, that are imported with all that they import in turn."""
LATER = frozenset({"sitecrawl.extensions.ftp_client", "sitecrawl.extensions.ftp_session"})
"""Modules that take the reactor, so that a crawl has to have chosen it."""


def import_everything() -> None:
    for name in IMPORTED:
        imported = importlib.import_module(name)
        for found in pkgutil.walk_packages(getattr(imported, "__path__", ()), f"{name}."):
            if found.name not in LATER:
                importlib.import_module(found.name)
    assert "twisted.internet.reactor" not in sys.modules, "a crawl chooses its reactor itself"


def main() -> None:
    sys.path[0] = str(Path.cwd())  # as `python -m scrapy` has it
    from scrapy.cmdline import execute

    from sitecrawl.commands import keywordhunter

    import_everything()
    gc.freeze()  # what a fork does not look at, it does not copy
    for line in sys.stdin:
        words, environment, folder, out, errors = json.loads(line)
        child = os.fork()
        if not child:
            become(words, environment)
            redirect(out, errors)
            os.chdir(folder)
            if words[0] == "KeywordHunter":
                keywordhunter.main(words[1:])  # which ends the process
            execute()  # and so does this
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def become(words: list[str], environment: dict[str, str]) -> None:
    """What `python -m scrapy` with `words` would find out about itself."""
    sys.argv, sys.orig_argv = ["scrapy", *words], [sys.executable, "-m", "scrapy", *words]
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))


def redirect(out: str, errors: str) -> None:
    writes = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, (path, mode) in enumerate(((os.devnull, os.O_RDONLY), (out, writes), (errors, writes))):
        os.dup2(os.open(path, mode), number)


if __name__ == "__main__":
    main()
