"""The command `KeywordHunter`: the spider `keyword`, for people who want to know nothing of Scrapy.

It leaves nothing behind but the folder that it is asked to fill: the crawl's own directory is a passing one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any, Final, NoReturn

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.settings import Settings

from sitecrawl.base.display import printable
from sitecrawl.base.errors import SitecrawlError
from sitecrawl.base.limits import PRIVATE_ADDRESS
from sitecrawl.console.base_command import add_version
from sitecrawl.console.single_crawl import obstacle, run_spider
from sitecrawl.crawl.ending import BY_ITSELF, FINISHED, HOSTS_SILENT, MAX_PAGES, ending
from sitecrawl.crawl.pause import REASONS
from sitecrawl.crawl.traffic import Traffic
from sitecrawl.plugins.keyword.keyword import Keyword
from sitecrawl.plugins.keyword.spider import FOUND, KeywordSpider
from sitecrawl.urls.place import KINDS
from sitecrawl.urls.url import guess_url

_INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, as of other programs: 128 and the number of the signal."""
_MAX_WANT_TIME: Final = 30.0
"""Seconds: whoever waits for an answer wants to hear that there is no network."""
_SHOWN: Final = 1000
_WHY: Final = {MAX_PAGES: "max_pages is reached", HOSTS_SILENT: "their hosts ceased to answer"}

_DESCRIPTION = """\
Looks for KEYWORD in the text of START and of the pages that links lead to from there, level by level, to depth 5
(START has depth 1), and stops at the first page that has it. Prints the page's URL and the line.

START       a URL; a missing scheme is http: localhost:8000/docs
KEYWORD     at most 100 characters; case does not count, nor do tags and entities within it
OUTPUT_DIR  a folder that gets every fetched page as a file; nothing is saved if it is empty, or left out

Exit code 0: it ran without error, whether it has found KEYWORD or not. 1: bad arguments, or START could not be read,
or a page could not be kept. 130: interrupted.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(1, f"{self.format_usage()}{self.prog}: {message}\n")


def main(words: Sequence[str] | None = None) -> NoReturn:
    """The command; `words` in the place of the command line's."""
    options = _read_words(sys.argv[1:] if words is None else words)
    try:
        code = _run(options)
    except SitecrawlError as error:
        print(f"KeywordHunter: {printable(str(error), _SHOWN)}", file=sys.stderr)
        code = 1
    raise SystemExit(code)


def _read_words(words: Sequence[str]) -> argparse.Namespace:
    """What stands on the command line. Exits with code 1, and a message, for what makes no sense."""
    parser = _Parser(
        prog="KeywordHunter",
        usage="KeywordHunter [options] START KEYWORD [OUTPUT_DIR]",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_version(parser)
    parser.add_argument("--scope", choices=KINDS, default="any", help="which links it follows (default: any)")
    parser.add_argument(
        "-s", dest="settings", metavar="NAME=VALUE", action="append", default=[], help="a setting of the crawl"
    )
    # All that follows the options, also a keyword that begins with a dash.
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    given = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not 2 <= len(given) <= 3:
        parser.error(f"START and KEYWORD are needed, and OUTPUT_DIR may follow; here are {len(given)} arguments")
    options.start, options.keyword, *others = given
    options.output_dir = others[0] if others and others[0].strip() else None
    for setting in options.settings:
        if "=" not in setting:
            parser.error(f"-s {setting}: write -s NAME=VALUE")
    return options


def _run(options: argparse.Namespace) -> int:
    Keyword(options.keyword)  # what is wrong with these is said before anything starts
    guess_url(options.start)
    folder = str(Path(options.output_dir).absolute()) if options.output_dir else None
    arguments = {"start": options.start, "keyword": options.keyword, "scope": options.scope}
    if folder:
        arguments["output_dir"] = folder
    with tempfile.TemporaryDirectory(prefix="KeywordHunter-") as place, chdir(place):
        process = AsyncCrawlerProcess(_settings(options.settings, Path(place) / "crawl"))
        spider, stats = run_spider(process, KeywordSpider, **arguments)
    return _tell(spider, stats, options.start)


def _settings(given: Sequence[str], directory: Path) -> Settings:
    settings = Settings()
    settings.setmodule("sitecrawl.settings", priority="project")
    ours = {
        "JOBDIR": str(directory),
        "ITEM_PIPELINES": {"pipelines.WarcPipeline": None},
        "SITECRAWL_SUMMARY": False,
        "SITECRAWL_MAX_WANT_TIME": _MAX_WANT_TIME,
    }
    settings.setdict(ours, priority="project")
    settings.setdict(dict(setting.split("=", 1) for setting in given), priority="cmdline")
    return settings


def _tell(spider: KeywordSpider, stats: Mapping[str, Any], start: str) -> int:
    """Print how it ended; returns the exit code."""
    reason = stats.get("finish_reason")
    if reason == FOUND and spider.found is not None:
        print(printable(spider.found.url, _SHOWN))
        print(f"line {spider.found.line}: {printable(spider.found.text, _SHOWN)}")
        return 0
    if reason == "shutdown":
        print(f"KeywordHunter: interrupted; not found on {spider.read} pages", file=sys.stderr)
        return _INTERRUPTED
    if reason not in BY_ITSELF:
        words = ending(reason) if reason in REASONS else f"ended: {reason}"
        why = spider.trouble or f"the crawl {words}"
        print(f"KeywordHunter: {printable(why, _SHOWN)}", file=sys.stderr)
        return 1
    if not spider.read:
        print(f"KeywordHunter: {printable(start)} could not be read: {obstacle(stats)}", file=sys.stderr)
        return 1
    print(f"not found on {spider.read} pages")
    for note in (*_unread(stats), *_notes(stats)):
        print(f"KeywordHunter: {note}", file=sys.stderr)
    return 0


def _unread(stats: Mapping[str, Any]) -> Iterator[str]:
    """Why some pages were not looked at that should have been."""
    left = stats.get("frontier/waiting", 0) - stats.get("frontier/joined", 0)
    if stats.get("finish_reason") != FINISHED:
        why = _WHY.get(stats.get("finish_reason", ""), "they are held back as traps")
        yield f"{left:,} URLs that are known were not read: {why}"


def _notes(stats: Mapping[str, Any]) -> Iterator[str]:
    """What was not looked at, though a link leads to it."""
    traffic = Traffic.read(stats)
    if traffic.errors:
        yield f"{traffic.errors} downloads failed, or brought an error's page"
    if traffic.forbidden:
        yield f"{traffic.forbidden} URLs are excluded by robots.txt"
    if traffic.private:
        yield f"{traffic.private} URLs lead to private addresses: -s {PRIVATE_ADDRESS.name}=True follows them"


if __name__ == "__main__":
    main()
