"""How a spider takes its job file: what was told besides counts above it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings
from scrapy.utils.misc import load_object

from sitecrawl.base import plugins
from sitecrawl.base.errors import OptionError

logger = logging.getLogger(__name__)

_ENDINGS: Final = frozenset({".toml", ".yaml", ".yml"})
"""Of a job file's name. Those of YAML, which once were some, are refused by name."""
PRIORITY: Final = (SETTINGS_PRIORITIES["spider"] + SETTINGS_PRIORITIES["cmdline"]) // 2
"""Of the file's settings: above those of project and spider, below those of the command line."""


class Job(Protocol):
    """What a job file tells a crawl."""

    @property
    def path(self) -> Path: ...
    @property
    def name(self) -> str: ...
    @property
    def spider(self) -> str:
        """The only one that may run it; empty for any."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Of the spider, as it takes them: texts, and lists of texts, whose commas are their own."""

    @property
    def own(self) -> Mapping[str, str]:
        """Arguments of the spider's own; paths in them begin beside the file."""

    @property
    def settings(self) -> Mapping[str, Any]: ...
    @property
    def warning(self) -> str:
        """Of secrets in the file that others can read; empty for none."""


class JobFiles(Protocol):
    """What reads job files: of a plug-in."""

    @staticmethod
    def read(path: Path) -> Job:
        """Raises `OptionError`, which names file and line of every problem."""

    @staticmethod
    def described() -> Mapping[str, str]:
        """What each argument of spiders means."""


def is_file(job: str) -> bool:
    """Whether the spider argument `job` names a file, and not a crawl."""
    return Path(job).suffix.lower() in _ENDINGS


def job_files(settings: BaseSettings) -> JobFiles | None:
    """None without the plug-in."""
    working = plugins.of_crawl(settings).values()
    named = next((plugin.job_files for plugin in working if plugin.job_files), "")
    return load_object(named) if named else None


def with_job_file(crawler: Crawler, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in `given`, and below them those of the job file that one of them names; its settings go to the
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
    return {**arguments_of(job, getattr(spider, "path_arguments", ())), **given, "job": name}


def job_in(file: str, settings: BaseSettings) -> Job:
    """The job that the file is. Raises `OptionError`."""
    files = job_files(settings)
    if files is None:
        raise OptionError(f"{file} is a job file, which is of a plug-in that is not here: docs/plugins.md")
    return files.read(Path(file))


def has_directory(settings: BaseSettings, scrapyd_job: str) -> bool:
    """Whether JOBDIR says where the crawl lives, and is not just scrapyd's way of saying nothing."""
    jobdir = settings.get("JOBDIR")
    return bool(jobdir) and Path(jobdir).name != scrapyd_job


def arguments_of(job: Job, paths: tuple[str, ...]) -> dict[str, Any]:
    """All of the spider's, where those of `paths` name files beside the job's."""
    folder = job.path.parent
    own = {name: _beside(folder, text) if name in paths else text for name, text in job.own.items()}
    return {**own, **job.arguments}


def _beside(folder: Path, text: str) -> str:
    """The path in `text`; or of several, with commas between them, those that are files, for others are URLs."""
    if "," not in text and "://" not in text:
        return str(folder / text)
    words = (word.strip() for word in text.split(","))
    return ",".join(str(folder / word) if (folder / word).is_file() else word for word in words)
