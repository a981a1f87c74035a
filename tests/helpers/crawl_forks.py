"""Runs `scrapy` commands in forks of one process that has everything imported: 1.5 s of a processor less for each.

    python crawl_forks.py

Reads a JSON array from each line: the command's words, its environment, the folder where it runs, and the paths where
its output and its errors go. `KeywordHunter` in the place of a command is the program of that name. Many run at once.
Says `[pid, null]` when one has begun, and `[pid, code]` when it has ended. `forks` has the other side.

What Python, Scrapy and the product find out once and remember, this process has found out.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import ssl
import sys
import threading
from contextlib import redirect_stdout, suppress
from functools import cache
from importlib import metadata
from io import StringIO
from pathlib import Path
from typing import NoReturn

import failpoints
import small_limits

IMPORTED = (
    "middlewares",
    "pipelines",
    "scrapy.cmdline",
    "scrapy.commands",
    "scrapy.downloadermiddlewares",
    "scrapy.spidermiddlewares",
    "sitecrawl.console",
    "sitecrawl.plugins.dashboard",
    "sitecrawl.extensions",
    "sitecrawl.scheduler",
    "sitecrawl.spiders",
    "sitecrawl.plugins.export.commands",
    "sitecrawl.plugins.keyword",
    "sitecrawl.plugins.report.commands",
    "sitecrawl.plugins.webhooks",
    "sitecrawl.plugins.why.commands",
)
"""Modules, and packages with all their modules, that are imported with all that they import in turn."""
SPARED = (
    *(f"scrapy.core.downloader.handlers.{name}" for name in ("datauri", "file", "http11", "s3")),
    *(
        f"scrapy.extensions.{name}"
        for name in (
            "corestats", "logcount", "logstats", "memdebug", "memusage", "remote_control", "spiderstate", "telnet",
            "throttle",
        )
    ),
    "scrapy.pqueues",
    "scrapy.squeues",
    "scrapy.utils.engine",
    "uvloop",
)  # fmt: skip
"""Modules that each crawl would import itself, if there are any of the name: another Scrapy may have others."""
LATER = frozenset({"sitecrawl.plugins.ftp.client", "sitecrawl.plugins.ftp.session"})
"""Modules that take the reactor, so that a crawl has to have chosen it."""


def remember_packages() -> None:
    """What packages are installed is read once. Who imports these functions after this gets those that remember."""
    metadata.entry_points = cache(metadata.entry_points)  # type: ignore[assignment]
    metadata.version = cache(metadata.version)


def import_everything() -> None:
    for name in IMPORTED:
        imported = importlib.import_module(name)
        for found in pkgutil.walk_packages(getattr(imported, "__path__", ()), f"{name}."):
            if found.name not in LATER:
                importlib.import_module(found.name)
    for name in SPARED:
        with suppress(ModuleNotFoundError):
            importlib.import_module(name)
    assert "twisted.internet.reactor" not in sys.modules, "a crawl chooses its reactor itself"


def remember() -> None:
    """Find out what is found out once and remembered: which classes are of a kind, which regular expressions there
    are, which names are public suffixes, what packages are installed.
    """
    from scrapy.cmdline import execute
    from scrapy.utils.versions import get_versions

    from sitecrawl.console.entry_points import commands_are_here
    from sitecrawl.urls import public_suffix

    with redirect_stdout(StringIO()), suppress(SystemExit):
        execute(["scrapy", "settings", "--get", "BOT_NAME"])
    del sys.modules["sitecrawl.settings"]  # it asks the environment, and a crawl has its own
    get_versions()
    commands_are_here()
    public_suffix._rules()
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def expect_little() -> None:
    """Bloom filters of crawls begin with room for few URLs: one for a million has megabytes, which are filled with
    zeros, written and synced. More URLs than that get a layer more.
    """
    small_limits.make({"sitecrawl.frontier.seen.store.CAPACITY": 1_000})


def main() -> None:
    sys.path[0] = str(Path.cwd())
    remember_packages()
    import_everything()
    remember()
    expect_little()
    small_limits.make(small_limits.PATIENT)
    gc.freeze()  # what a fork does not look at, it does not copy
    serve()


def serve() -> None:
    """Begin what comes, until nobody is there to order."""
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # not to be ignored: its coming is written to `wakes`
    signal.set_wakeup_fd(wakes)
    rest, is_open = b"", True
    while is_open:
        ready, _, _ = select.select([sys.stdin, woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            report_ends()
        if sys.stdin in ready:
            read = os.read(sys.stdin.fileno(), 1 << 20)
            *lines, rest = (rest + read).split(b"\n")
            for line in lines:
                begin(*json.loads(line))
            is_open = bool(read)


def begin(words: list[str], environment: dict[str, str], folder: str, out: str, errors: str) -> None:
    """Fork, and run `words` there."""
    if child := os.fork():
        say(child, None)
        return
    from scrapy.cmdline import execute

    from sitecrawl.plugins.keyword import keywordhunter

    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    become(words, environment, folder)
    failpoints.arm(environment)
    small_limits.arm(environment)
    redirect(out, errors)
    os.chdir(folder)
    try:
        if words[0] == "KeywordHunter":
            keywordhunter.main(words[1:])  # which ends the process
        execute()  # and so does this
    except SystemExit as end:
        leave(end.code)


def leave(code: object) -> NoReturn:
    """End as Python does with that `SystemExit`, but for taking all modules apart: for that, the memory that they are
    in would be copied.
    """
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def report_ends() -> None:
    """Of all that have ended: a signal that comes twice before it is seen comes once."""
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            say(ended[0], os.waitstatus_to_exitcode(ended[1]))


def say(pid: int, code: int | None) -> None:
    print(json.dumps([pid, code]), flush=True)


def become(words: list[str], environment: dict[str, str], folder: str) -> None:
    """What `python -m scrapy` with `words` would find out about itself."""
    sys.argv, sys.orig_argv = ["scrapy", *words], [sys.executable, "-m", "scrapy", *words]
    os.environ.clear()
    os.environ.update(environment)
    sys.path[0] = folder
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))


def redirect(out: str, errors: str) -> None:
    writes = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, (path, mode) in enumerate(((os.devnull, os.O_RDONLY), (out, writes), (errors, writes))):
        os.dup2(os.open(path, mode), number)


if __name__ == "__main__":
    main()
