"""How a spider takes its job file: what was told besides counts above it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings

from sitecrawl.base.errors import OptionError
from sitecrawl.job.naming import is_file

if TYPE_CHECKING:
    from sitecrawl.job.reading import Job

logger = logging.getLogger(__name__)

PRIORITY: Final = (SETTINGS_PRIORITIES["spider"] + SETTINGS_PRIORITIES["cmdline"]) // 2
"""Of the file's settings: above those of project and spider, below those of the command line."""


def with_job_file(crawler: Crawler, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments in `given`, and below them those of the job file that one of them names; its settings go to the
    crawler. Raises `OptionError`.
    """
    named = given.get("job", "")
    if not is_file(named):
        return dict(given)
    job = job_in(named)
    spider = crawler.spidercls
    if job.spider not in {"", spider.name}:
        raise OptionError(f"{job.path} is for the spider {job.spider}, and not for {spider.name}")
    if job.warning:
        logger.warning("%s", job.warning)
    for name, value in job.settings.items():
        crawler.settings.set(name, value, PRIORITY)
    name = "" if has_directory(crawler.settings, given.get("_job", "")) else job.name
    return {**arguments_of(job, getattr(spider, "path_arguments", ())), **given, "job": name}


def job_in(file: str) -> Job:
    """The job that the file is. Raises `OptionError`."""
    from sitecrawl.job.reading import read_job  # noqa: PLC0415 - YAML and more, for those who have a file

    return read_job(Path(file))


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
