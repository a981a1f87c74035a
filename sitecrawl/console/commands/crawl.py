"""`scrapy crawl`, which says in one line what is wrong with an argument or a directory."""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from scrapy.commands.crawl import Command as ScrapyCrawl
from scrapy.crawler import Crawler
from scrapy.exceptions import UsageError
from scrapy.settings import BaseSettings, Settings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.python import get_func_args

from sitecrawl.addon import check_settings
from sitecrawl.base import declared
from sitecrawl.base.errors import OptionError, SitecrawlError
from sitecrawl.base.secret_settings import hidden_options
from sitecrawl.cluster.line import to_parent
from sitecrawl.console.base_command import Versioned
from sitecrawl.console.greeting import subject_of
from sitecrawl.crawl import directories, sharing
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.checked_settings import check_scrapys, not_loaded
from sitecrawl.crawl.checkpoints import FRONTIER_ERROR, MEMORY_ERRORS
from sitecrawl.crawl.directories import is_job
from sitecrawl.crawl.ending import HELD_BACK, NO_BROWSER
from sitecrawl.crawl.json_log import log_as_wanted
from sitecrawl.crawl.outcomes import NO_PAGE
from sitecrawl.crawl.outputs import outputs
from sitecrawl.crawl.page_reading import NO_PARSER
from sitecrawl.crawl.pause import REASONS
from sitecrawl.crawl.privates import crawler_of
from sitecrawl.crawl.seeds import STANDARD_INPUT
from sitecrawl.crawl.sharing import check_feeds, own_file
from sitecrawl.crawldir.directory import had_redis, read_manifest
from sitecrawl.spiders.arguments import NAMES, SiteArguments
from sitecrawl.spiders.job_file import PRIORITY, has_directory, is_file, job_files, job_in
from sitecrawl.spiders.site import ONE_PROCESS, SiteSpider

if TYPE_CHECKING:
    from sitecrawl.console.many_workers import ManyWorkers, Outcome

logger = logging.getLogger(__name__)

FAILED: Final = 1
_IN_WANT: Final = 3
_WITHOUT_PAGE: Final = 4
_LEAVES_HELD_BACK: Final = 5
"""Exit codes."""
_BY_HAND: Final = frozenset({"cancelled", "dashboard", "shutdown"})
"""Finish reasons of crawls that the user stopped, perhaps before the first page."""
_JOB: Final = "A name for the crawl's directory, or a job file: site.toml."
_COLUMN: Final = 22
_WIDTH: Final = 79


class _Help(argparse.Action):
    """Scrapy's `-h`, and the arguments of the named spider."""

    def __init__(self, option_strings: list[str], dest: str, *, settings: Settings, **_: Any) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, help="show this help message and exit")
        self._settings = settings

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        parser.print_help()
        loader = get_spider_loader(self._settings)
        known = loader.list()
        for name in [word for word in sys.argv[1:] if word in known][:1]:
            kind = loader.load(name)
            ours = (*kind.own_arguments, *NAMES) if issubclass(kind, SiteSpider) else ()
            names = ours or get_func_args(kind.__init__, stripself=True)
            print(*_arguments_of(name, names, self._settings), sep="\n")
        parser.exit()


class Command(Versioned, ScrapyCrawl):
    """Exit codes: 0 when the crawl ended by itself; 1 when it could not begin, had to stop, or could not write an
    output; 2 for a wrong call; 3 when this machine or the network lacked something; 4 when no page was fetched, and 5
    when URLs are held back (both 0 with `SITECRAWL_EXIT_CODES=False`).
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        if self.settings is not None:
            parser.add_argument("-h", "--help", action=_Help, settings=self.settings)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check settings of log and reactor, which are read before any add-on."""
        settings, arguments = hidden_options()
        opts.set, opts.spargs = [*opts.set, *settings], [*opts.spargs, *arguments]
        super().process_options(args, opts)
        try:
            check_scrapys(self.settings)
        except SitecrawlError as error:
            sys.exit(f"sitecrawl: {error}")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if len(args) != 1:
            raise UsageError("Name one spider: scrapy crawl generic -a seeds=https://example.com")
        log_as_wanted(self.crawler_process.settings)
        try:
            crawler = crawler_of(self, args[0])
        except KeyError:
            known = ", ".join(self.crawler_process.spider_loader.list())
            raise UsageError(f"There is no spider {args[0]!r}; there are: {known}", print_help=False) from None
        if (line := to_parent()) is not None:
            if crawler.settings.getbool("LOG_ENABLED"):
                line.relay_log(crawler.settings["LOG_LEVEL"])
            if opts.profile:  # which Scrapy writes when this has ended
                opts.profile = own_file(opts.profile, crawler.settings)
            self._crawl(crawler, opts)
            line.close()
            return
        try:
            many = _many_workers(crawler, opts.spargs)
            if many is not None:
                outcome = many.run()
                self.exitcode = _code_of(outcome)
                self._write_outputs(crawler.settings, many.directory, is_stopped=_was_stopped(outcome))
                return
        except SitecrawlError as error:
            self._refuse(str(error))
            return
        self._crawl(crawler, opts)

    def _refuse(self, reason: str) -> None:
        """Say why the crawl cannot begin."""
        if (line := to_parent()) is not None:
            line.tell(error=reason)
        _complain(reason)
        self.exitcode = FAILED

    def _crawl(self, crawler: Crawler, opts: argparse.Namespace) -> None:
        task = asyncio.ensure_future(self.crawler_process.crawl(crawler, **opts.spargs))
        self.crawler_process.start()
        gc.freeze()  # what is left goes with the process: Python would look through all of it several times
        error = task.exception() if task.done() and not task.cancelled() else None
        reason = (
            "" if error is None else str(error) if isinstance(error, SitecrawlError) else not_loaded(crawler.settings)
        )
        if reason:
            self._refuse(reason)
        elif error is not None:
            raise error
        elif self.crawler_process.bootstrap_failed or _had_to_stop(crawler):
            self.exitcode = FAILED
        elif _was_in_want(crawler):
            self.exitcode = _IN_WANT
        elif _has_no_page(crawler):
            self.exitcode = _WITHOUT_PAGE * declared.EXIT_CODES.read(crawler.settings)
        elif crawler.stats.get_value("finish_reason") == HELD_BACK:
            self.exitcode = _LEAVES_HELD_BACK * declared.EXIT_CODES.read(crawler.settings)
        made = Crawl.made(crawler)
        if made is not None and to_parent() is None:  # many workers' are written when all have ended
            is_stopped = crawler.stats.get_value("finish_reason") in _BY_HAND
            self._write_outputs(crawler.settings, made.directory.path, is_stopped=is_stopped)

    def _write_outputs(self, settings: Settings, directory: Path, *, is_stopped: bool) -> None:
        """Write the outputs of plug-ins. An error in one does not keep the others back."""
        wanted = outputs(settings)
        if not wanted:
            return
        if is_stopped or self.exitcode in {FAILED, _IN_WANT}:
            names = ", ".join(output.target for output in wanted)
            _complain(f"not written, for the crawl was stopped: {names}")
            return
        for number in (signal.SIGINT, signal.SIGTERM):  # Scrapy's handlers would end a crawl that has ended
            signal.signal(number, signal.default_int_handler)
        for output in wanted:
            try:
                output.write(directory, settings)
                logger.info("Written: %s", output.target)
            except SitecrawlError as error:
                _complain(f"{output.target} is not written: {error}")
                self.exitcode = self.exitcode or FAILED
            except KeyboardInterrupt:
                _complain(f"{output.target} is not written, nor what comes after it: interrupted")
                self.exitcode = self.exitcode or FAILED
                return


def _complain(reason: str) -> None:
    print(f"sitecrawl: {reason}", file=sys.stderr)
    if is_job():  # nobody sees its stderr
        logger.error("%s", reason)


def _many_workers(crawler: Crawler, given: Mapping[str, Any]) -> ManyWorkers | None:
    """The crawl by many workers, if it is to be one, or was begun as one; else None. Makes the spider once, to
    report errors in its arguments first. Raises `SitecrawlError`.
    """
    spider = crawler.spidercls
    if given.get("dry") == "1":  # a few pages
        return None
    settings, name = _peeked(crawler, given)
    wanted, is_automatic = sharing.workers(settings)
    job = given.get("_job", "")
    place = _named_directory(settings, name, job)
    if place is not None and read_manifest(place) is not None:
        if wanted > 1 and not is_automatic:
            raise OptionError(
                f"{place} was begun by one process, which has all of the crawl in one database: go on with "
                "SITECRAWL_WORKERS=1, or begin anew in another directory"
            )
        return None
    if wanted == 1 and (place is None or not had_redis(place)):
        return None
    if given.get("seeds") == STANDARD_INPUT:
        raise OptionError("seeds=- is read once, and each worker needs the seeds: write them to a file, seeds=@FILE")
    from sitecrawl.console.many_workers import ManyWorkers  # noqa: PLC0415 - Redis, which one process has none of

    check_settings(settings)
    made = spider.from_crawler(crawler, **given)
    if getattr(made, "arguments", SiteArguments()).again is not None:
        raise OptionError(ONE_PROCESS)
    check_feeds(crawler.settings)
    besides = ["-a", "job="] if name and not is_file(given["job"]) else []
    directory = directories.directory(crawler.settings, spider.name, job)
    subject = subject_of(made) if declared.SUMMARY.read(crawler.settings) else ""
    return ManyWorkers(crawler.settings, spider.name, directory, wanted, job, besides, subject)


def _named_directory(settings: BaseSettings, name: str, scrapyd_job: str) -> Path | None:
    """Directory named by JOBDIR or by the job `name`; None for a crawl that gets a new one. Raises `OptionError`."""
    if name:
        return directories.job_directory(settings, name, scrapyd_job)
    jobdir = settings.get("JOBDIR")
    return Path(jobdir) if jobdir else None


def _peeked(crawler: Crawler, given: Mapping[str, Any]) -> tuple[BaseSettings, str]:
    """Settings with those of the job file, and the name of the job; empty without one."""
    named = given.get("job", "")
    if not issubclass(crawler.spidercls, SiteSpider):
        return crawler.settings, ""
    if not is_file(named):
        return crawler.settings, named
    settings, job = crawler.settings.copy(), job_in(named, crawler.settings)
    for name, value in job.settings.items():
        settings.set(name, value, PRIORITY)
    return settings, "" if has_directory(settings, given.get("_job", "")) else job.name


def _code_of(outcome: Outcome) -> int:
    """The worst exit code of the workers; 4 and 5 are about all of them together."""
    shares = outcome.shares
    if outcome.errors or FAILED in outcome.codes or not (shares or outcome.is_stopped):
        return FAILED
    if _IN_WANT in outcome.codes:
        return _IN_WANT
    if _was_stopped(outcome):
        return 0
    code = _WITHOUT_PAGE if not outcome.has_pages else _LEAVES_HELD_BACK if outcome.holds_back else 0
    return code * shares[0].exit_codes


def _was_stopped(outcome: Outcome) -> bool:
    """Whether the user stopped it, here or through a worker."""
    return outcome.is_stopped or any(share.reason in _BY_HAND for share in outcome.shares)


def _was_in_want(crawler: Crawler) -> bool:
    """Whether this machine lacked something, perhaps only for the last checkpoint."""
    stats = crawler.stats
    return stats.get_value("finish_reason") in REASONS or bool(stats.get_value(MEMORY_ERRORS))


def _has_no_page(crawler: Crawler) -> bool:
    """Whether no run fetched a page, and the user did not stop it."""
    return bool(crawler.stats.get_value(NO_PAGE)) and crawler.stats.get_value("finish_reason") not in _BY_HAND


def _had_to_stop(crawler: Crawler) -> bool:
    """Whether something could not be stored or read."""
    stats = crawler.stats
    is_failure = stats.get_value("finish_reason") in {"storage_error", FRONTIER_ERROR, NO_PARSER, NO_BROWSER}
    return is_failure or bool(stats.get_value("scheduler/storage_errors"))


def _arguments_of(spider: str, names: Iterable[str], settings: BaseSettings) -> Iterator[str]:
    """Help on the arguments `names` of a spider, as described by the plug-in for job files."""
    yield from ("", f"Arguments of the spider {spider}", "-" * (len(spider) + 24))
    files = job_files(settings)
    words = {"job": _JOB, **(files.described() if files is not None else {})}
    for name in names:
        yield from _argument_lines(name, words.get(name, "Of this spider: docs/spiders.md says more."))


def _argument_lines(name: str, words: str) -> Iterator[str]:
    first, *others = wrap(words, _WIDTH - _COLUMN) or [""]
    yield f"  -a {name + '=':<{_COLUMN - 6}} {first}"
    yield from (" " * _COLUMN + line for line in others)
