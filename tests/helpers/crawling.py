"""Runs `scrapy` as a user does: a process of its own, in the project's folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import forks
import small_limits
from waiting import PATIENCE

from sitecrawl.base.hashing import HASH_NAME
from sitecrawl.crawldir.database import Database
from sitecrawl.frontier.urls.record import UrlRecord, UrlState

HELPERS = Path(__file__).resolve().parent
PROJECT = HELPERS.parents[1]
_READ_LATE = frozenset({"http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE"})
"""Variables that are read only when a crawl begins."""


def with_settings(*words: str, settings: Mapping[str, object] | None = None) -> list[str]:
    """What stands behind `scrapy`."""
    return [*words, *(part for name, value in (settings or {}).items() for part in ("-s", f"{name}={value}"))]


def scrapy_command(*words: str, settings: Mapping[str, object] | None = None) -> list[str]:
    return [sys.executable, "-m", "scrapy", *with_settings(*words, settings=settings)]


def environment(**changes: str) -> dict[str, str]:
    """The environment without proxies, so that loopback is loopback."""
    plain = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    return {**plain, "PYTHONUNBUFFERED": "1", **changes}


def _leads_to_ours(name: str, value: str) -> bool:
    """Whether a variable only lets our modules be found from elsewhere: a fork has them, or finds them, too."""
    if name == "PYTHONPATH":
        return all(Path(folder).is_relative_to(PROJECT) for folder in value.split(os.pathsep))
    return name == small_limits.VARIABLE or (name, value) == ("SCRAPY_SETTINGS_MODULE", "sitecrawl.settings")


def scrapy(
    *words: str,
    settings: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path = PROJECT,
    timeout: float = PATIENCE,
) -> subprocess.CompletedProcess[str]:
    """Run a scrapy command to its end; the caller looks at the exit code. `LIMITS` among the settings: values of
    limits that are no settings, by name.

    A Python that has everything imported forks for it, unless it is to begin with variables that are neither read as
    a crawl begins nor lead to our own modules: it may import others.
    """
    settings = dict(settings or {})
    env = {**(env or {}), **small_limits.as_variable(settings.pop("LIMITS", {}))}
    if {name for name, value in env.items() if not _leads_to_ours(name, value)} <= _READ_LATE:
        done = forked(*with_settings(*words, settings=settings), env=environment(**env), cwd=cwd, timeout=timeout)
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
    return subprocess.run(
        scrapy_command(*words, settings=settings),
        cwd=cwd,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def forked(
    *words: str, env: Mapping[str, str], cwd: Path = PROJECT, timeout: float = PATIENCE
) -> subprocess.CompletedProcess[bytes]:
    """Run a scrapy command to its end, by a fork."""
    with TemporaryDirectory(prefix="scrapy-") as name:
        out, errors = Path(name, "out"), Path(name, "errors")
        fork = forks.start(words, env, out, errors, folder=cwd)
        try:
            code = fork.wait(timeout)
        finally:
            fork.kill()
            fork.wait()
        return subprocess.CompletedProcess(words, code, out.read_bytes(), errors.read_bytes())


@contextmanager
def at_work(
    *words: str, settings: Mapping[str, object] | None = None, log: Path = Path(os.devnull)
) -> Iterator[forks.Fork]:
    """A scrapy command that is under way, by a fork. In the end it is killed. `LIMITS` as of `scrapy`."""
    given: dict[str, Any] = dict(settings or {})
    limits = small_limits.as_variable(given.pop("LIMITS", {}))
    fork = forks.start(with_settings(*words, settings=given), {**environment(), **limits}, log)
    try:
        yield fork
    finally:
        fork.kill()
        fork.wait(PATIENCE)


def crawl(seeds: str, jobdir: Path, **arguments: object) -> subprocess.CompletedProcess[str]:
    """`scrapy crawl generic` without pauses; upper-case arguments are settings. That no page came is no
    failure unless a test says so.
    """
    settings = {"SITECRAWL_DELAY_FACTOR": 0, "SITECRAWL_EXIT_CODES": False, "JOBDIR": jobdir}
    settings |= {name: value for name, value in arguments.items() if name.isupper()}
    words = [part for name, value in arguments.items() if not name.isupper() for part in ("-a", f"{name}={value}")]
    return scrapy("crawl", "generic", "-a", f"seeds={seeds}", *words, settings=settings)


def stats_of(log: str) -> dict[str, int]:
    """The statistics that are whole numbers, of a crawl with STATS_DUMP."""
    return {name: int(number) for name, number in re.findall(r"'([^']+)': (\d+)[,}]", log)}


def states_of(jobdir: Path) -> dict[str, UrlState]:
    """What has become of each URL."""
    with closing(Database(jobdir / "db", hash_name=HASH_NAME)) as database:
        records = [UrlRecord.unpack(value) for _, value in database.scan("urls")]
    return {record.url: record.state for record in records}
