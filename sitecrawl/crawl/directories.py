"""Directory of a crawl, by Scrapy's settings, scrapyd's job or a job's name."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from pathlib import Path
from time import localtime, strftime
from typing import Final

from scrapy.settings import BaseSettings

from sitecrawl.base.errors import OptionError
from sitecrawl.base.expressions import expression

CRAWLS = Path("crawls")
"""Folder for crawls without a JOBDIR, below the working directory."""

_NO_NAMES: Final = frozenset({".", ".."})
_JOB: Final = expression(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""Valid names of jobs, which come over HTTP and name directories."""

_LOOKS: Final = frozenset({"bench", "check", "fetch", "parse", "rules", "shell", "view"})
"""Scrapy's commands that only try something out; their crawls are temporary."""


def only_looks() -> bool:
    """Whether this process is one of `_LOOKS`."""
    words = iter(sys.orig_argv)  # Scrapy takes the command's name out of `sys.argv`
    program = next((word for word in words if Path(word).name == "scrapy"), None)
    return program is not None and next((word for word in words if not word.startswith("-")), "") in _LOOKS


def is_job() -> bool:
    """Whether scrapyd started this process, so that users read its log and no terminal."""
    return any(word.startswith("_job=") for word in sys.orig_argv)


def directory(settings: BaseSettings, spider: str, job: str = "") -> Path:
    """The crawl's directory: JOBDIR, that of scrapyd's job, or a new one named after spider and time; a temporary one
    for commands of `_LOOKS`. Raises `OptionError` for a scrapyd job without a directory of its own.
    """
    if job in _NO_NAMES:
        raise OptionError(f"A job cannot be called {job!r}: its directory would hold those of the others")
    if jobdir := settings.get("JOBDIR"):
        return Path(jobdir)
    if only_looks():
        return temporary()
    return _job_in(CRAWLS, job) if job else _claimed(f"{spider}-{strftime('%Y%m%d-%H%M%S', localtime())}")


def temporary() -> Path:
    """A directory that is deleted at the end of this process."""
    path = Path(tempfile.mkdtemp(prefix="sitecrawl-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def _claimed(name: str) -> Path:
    """Create a directory called `name`, or with a number if another crawl took that in the same second."""
    path, serial = CRAWLS / name, 1
    while True:
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            serial += 1
            path = CRAWLS / f"{name}-{serial}"
        except OSError:
            return path  # who opens it says why it cannot be used
        else:
            return path


def job_directory(settings: BaseSettings, name: str, scrapyd_job: str) -> Path:
    """Directory of the spider argument `job`: beside scrapyd's other jobs of this spider, or below `CRAWLS`. Raises
    `OptionError` if JOBDIR names another one, or for an invalid name.
    """
    jobdir = Path(settings["JOBDIR"]) if settings.get("JOBDIR") else None
    if jobdir is not None and jobdir.name not in {scrapyd_job, name}:
        raise OptionError(f"job={name} and JOBDIR={jobdir} name two directories: leave one of them out")
    return _job_in(jobdir.parent if jobdir is not None else CRAWLS, name)


def _job_in(parent: Path, name: str) -> Path:
    check_job_name(name)
    return parent / name


def check_job_name(name: str) -> None:
    """Raise `OptionError` for an invalid job name."""
    if not _JOB.fullmatch(name):
        raise OptionError(
            f"A job is named by up to 100 letters, digits, dots, dashes and underscores, and not {name[:200]!r}"
        )
