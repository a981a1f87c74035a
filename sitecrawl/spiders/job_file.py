"""Arguments and settings of a spider from its job file, below those of the command line."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.misc import load_object

from sitecrawl.base import plugins
from sitecrawl.base.errors import OptionError

logger = logging.getLogger(__name__)

_ENDINGS: Final = frozenset({".toml", ".yaml", ".yml"})
"""Endings of job files. YAML is no longer read, and refused with a message."""
PRIORITY: Final = (SETTINGS_PRIORITIES["spider"] + SETTINGS_PRIORITIES["cmdline"]) // 2
"""Priority of the file's settings: between the spider's and the command line's."""


@dataclass(frozen=True, slots=True)
class Job:
    """The contents of the job file `path`."""

    path: Path
    name: str
    spider: str
    """The only spider that may run it; empty for any."""
    arguments: Mapping[str, Any]
    """Arguments of all site spiders: texts, or lists of texts that may contain commas."""
    own: Mapping[str, str]
    """Arguments of this spider; paths in them are relative to the file."""
    settings: Mapping[str, Any]
    warning: str = ""
    """Warning of secrets in a file that others can read; empty for none."""


class JobFiles(Protocol):
    """A plug-in's class that reads job files."""

    @staticmethod
    def read(path: Path) -> Job:
        """Read a file. Raises `OptionError` with file and line of every problem."""

    @staticmethod
    def described() -> Mapping[str, str]:
        """Description of each argument of spiders."""


def is_file(job: str) -> bool:
    """Whether the spider argument `job` names a file, and not a crawl."""
    return Path(job).suffix.lower() in _ENDINGS


def job_files(settings: BaseSettings) -> JobFiles | None:
    """The class of the plug-in for job files; None without one."""
    working = plugins.of_crawl(settings).values()
    named = next((plugin.job_files for plugin in working if plugin.job_files), "")
    return load_object(named) if named else None


def with_job_file(crawler: Crawler, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments `given`, and as defaults those of the job file that `job` names. Applies the file's settings to the
    crawler. Raises `OptionError`.
    """
    named = given.get("job", "")
    if not is_file(named):
        return dict(given)
    job = job_in(named, crawler.settings)
    spider = crawler.spidercls
    if job.spider not in {"", spider.name}:
        raise OptionError(f"{job.path} is for the spider {job.spider}, and not for {spider.name}")
    if job.warning:
        logger.warning("%s", job.warning)
    for name, value in job.settings.items():
        crawler.settings.set(name, value, PRIORITY)
    name = "" if has_directory(crawler.settings, given.get("_job", "")) else job.name
    return {**_arguments_of(job, getattr(spider, "path_arguments", ())), **given, "job": name}


def job_in(file: str, settings: BaseSettings) -> Job:
    """Read a job file. Raises `OptionError`."""
    files = job_files(settings)
    if files is None:
        raise OptionError(f"{file} is a job file, which is of a plug-in that is not here: docs/plugins.md")
    return files.read(Path(file))


def has_directory(settings: BaseSettings, scrapyd_job: str) -> bool:
    """Whether JOBDIR names the crawl's directory; scrapyd sets one named after its job by default."""
    jobdir = settings.get("JOBDIR")
    return bool(jobdir) and Path(jobdir).name != scrapyd_job


def _arguments_of(job: Job, paths: tuple[str, ...]) -> dict[str, Any]:
    """All arguments of the job; `paths`: names of those whose values are relative to the file."""
    folder = job.path.parent
    own = {name: _beside(folder, text) if name in paths else text for name, text in job.own.items()}
    return {**own, **job.arguments}


def _beside(folder: Path, text: str) -> str:
    """`text` as a path in `folder`; of several, separated by commas, those that are files: others are URLs."""
    if "," not in text and "://" not in text:
        return str(folder / text)
    words = (word.strip() for word in text.split(","))
    return ",".join(str(folder / word) if (folder / word).is_file() else word for word in words)
