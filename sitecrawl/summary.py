"""What a crawl says of itself when it ends: why it ended, its figures, and what to type next."""

from __future__ import annotations

import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sitecrawl.limits import PRIVATE_ADDRESS
from sitecrawl.pagestore.printing import visible
from sitecrawl.requests import GUESSES

WORST: Final = 5
"""Hosts and kinds of error that are named."""

_SPACE = re.compile(r"\s")
_NO_FAILURES = frozenset({"HostGivenUp", "IgnoreRequest", "Interrupted", "PrivateAddress", "Unreachable"})
"""Exceptions by which a middleware says no: nothing went wrong."""
_FAILURES: Final = {
    "CannotResolveHostError": "host not found",
    "DownloadCancelledError": "too large",
    "DownloadConnectionRefusedError": "connection refused",
    "DownloadFailedError": "connection lost",
    "DownloadTimeoutError": "timed out",
    "HeadersTooLarge": "too large",
    "IdleTimeout": "timed out",
    "ResponseDataLossError": "cut short",
    "TooManyChunks": "too large",
    "TooManyHeaders": "too large",
    "UnsupportedURLSchemeError": "no web address",
}
_ENDINGS: Final = {
    "finished": "finished: nothing is left to fetch",
    "shutdown": "was interrupted",
    "cancelled": "was cancelled",
    "dashboard": "was stopped by hand, from its dashboard",
    "storage_error": "stopped: a file of the crawl could not be used, the log says which and why",
    "keyword_found": "stopped: the keyword is found",
    "output_dir_error": "stopped: a page could not be kept in output_dir, the log says why",
    "memusage_exceeded": "stopped: the process reached MEMUSAGE_LIMIT_MB",
}


def printable(text: str, limit: int = 200) -> str:
    """`text` for one line of a terminal: at most `limit` of its characters, and none that the terminal obeys."""
    return visible(_SPACE.sub(" ", text[:limit]))


def size(number: float) -> str:
    """Bytes in the largest unit that fits, in powers of 1,000."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


def duration(seconds: float) -> str:
    """Hours, minutes and seconds: `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


@dataclass(frozen=True, slots=True)
class Traffic:
    """One run in figures. A robots.txt is no response here."""

    statuses: Counter[int] = field(default_factory=Counter)
    """Responses by status, without errors that were answers to guesses."""
    failures: Counter[str] = field(default_factory=Counter)
    """Downloads that brought nothing, by what went wrong; every attempt counts."""
    received: int = 0
    """Bytes of all responses, as transferred."""
    duplicates: int = 0
    """Links and requests to URLs that were known."""
    forbidden: int = 0
    """URLs that robots.txt forbids."""
    spider_errors: int = 0
    """Exceptions of the spider's own code."""
    private: int = 0
    """Connections that were refused for their address."""
    guesses: int = 0
    """Addresses that were guessed, such as those that sitemaps usually have, and were none."""

    @classmethod
    def read(cls, stats: Mapping[str, Any]) -> Traffic:
        """The figures among Scrapy's statistics."""
        statuses = _numbered(stats, "downloader/response_status_count/")
        statuses.subtract(_numbered(stats, "robotstxt/response_status_count/"))
        guesses = _numbered(stats, GUESSES)
        statuses.subtract(guesses)
        followed, new = stats.get("links/followed", 0), stats.get("links/new", 0)
        return cls(
            statuses=+statuses,
            failures=_failures(stats),
            received=stats.get("downloader/response_bytes", 0),
            duplicates=followed - new + stats.get("dupefilter/filtered", 0),
            forbidden=stats.get("robotstxt/forbidden", 0),
            private=stats.get(PRIVATE_ADDRESS.stat, 0),
            guesses=guesses.total(),
            spider_errors=sum(n for name, n in stats.items() if name.startswith("spider_exceptions/")),
        )

    @property
    def responses(self) -> int:
        return self.statuses.total()

    @property
    def errors(self) -> int:
        refused = sum(n for status, n in self.statuses.items() if status >= 400)
        return refused + self.failures.total() + self.spider_errors


def _numbered(stats: Mapping[str, Any], prefix: str) -> Counter[int]:
    return Counter({int(name[len(prefix) :]): n for name, n in stats.items() if name.startswith(prefix)})


def _failures(stats: Mapping[str, Any]) -> Counter[str]:
    found: Counter[str] = Counter()
    for name, n in stats.items():
        if name.startswith("downloader/exception_type_count/"):
            kind = name.rpartition("/")[2].rpartition(".")[2]
            if kind not in _NO_FAILURES:
                found[_FAILURES.get(kind, kind)] += n
    return found


@dataclass(frozen=True, slots=True)
class Totals:
    """The whole crawl, over all of its runs, in URLs."""

    fetched: int
    failed: int
    """Given up: they never answered."""
    waiting: int
    resumed: bool
    """Whether there were runs before this one."""
    held: int = 0
    """Of those waiting, how many are held back as traps."""
    silent: int = 0
    """Of those waiting, how many are on hosts that ceased to answer."""


@dataclass(frozen=True, slots=True)
class Summary:
    """All that the end of a run has to say; `lines` says it."""

    ending: str
    seconds: float
    traffic: Traffic
    hosts: Counter[str] = field(default_factory=Counter)
    """Errors by host."""
    totals: Totals | None = None
    """None where the frontier is not ours."""
    directory: Path | None = None
    has_pages: bool = False
    """Whether there is a page store to read."""
    resume: str | None = None
    """The command that goes on; None where there is nothing to go on with."""
    report: Sequence[tuple[str, str]] = ()
    """What the spider itself has to say, each with a label of up to 9 characters."""

    def lines(self) -> Iterator[str]:
        yield f"The crawl {printable(self.ending)}."
        yield ""
        for label, number, note in self._rows():
            yield f"  {label:<18}{'' if number is None else f'{number:,}':>10}  {printable(note, 1000)}".rstrip()
        yield ""
        yield from self._where()

    def _rows(self) -> Iterator[tuple[str, int | None, str]]:
        traffic = self.traffic
        rate = traffic.responses / self.seconds if self.seconds else 0.0
        speed = f"{size(traffic.received)} in {duration(self.seconds)}, {rate:,.1f} a second"
        yield "responses", traffic.responses, speed
        yield from self._classes()
        yield "failed downloads", traffic.failures.total(), _most(traffic.failures)
        if traffic.spider_errors:
            yield "spider errors", traffic.spider_errors, "the log has them"
        if self.hosts:
            yield "worst hosts", None, _most(self.hosts)
        yield "duplicates", traffic.duplicates, "links to URLs that were known"
        yield "robots.txt", traffic.forbidden, "URLs that it excludes"
        if traffic.guesses:
            yield "guesses", traffic.guesses, "addresses that sitemaps usually have, where none is"
        if traffic.private:
            yield "private", traffic.private, f"addresses that no seed names, see {PRIVATE_ADDRESS.setting}"
        yield from self._totals()

    def _classes(self) -> Iterator[tuple[str, int | None, str]]:
        for digit, meaning in ((1, ""), (2, " pages"), (3, " redirects"), (4, " errors"), (5, " errors")):
            some = Counter({str(status): n for status, n in self.traffic.statuses.items() if status // 100 == digit})
            if some:
                yield f"  {digit}xx{meaning}", some.total(), _most(some) if digit > 3 else ""

    def _totals(self) -> Iterator[tuple[str, int | None, str]]:
        if self.totals is None:
            return
        yield "given up", self.totals.failed, "URLs that never answered"
        yield "waiting", self.totals.waiting, "URLs that are known and not fetched"
        if self.totals.held:
            yield "  held back", self.totals.held, "of these, in what looks like traps, or was blocked"
        if self.totals.silent:
            yield "  silent", self.totals.silent, "of these, on hosts that ceased to answer: resume to ask them again"
        if self.totals.resumed:
            yield "fetched in all", self.totals.fetched, "URLs, this run and those before it"

    def _where(self) -> Iterator[str]:
        for label, text in self.report:
            yield f"  {printable(label, 9):<9} {printable(text, 1000)}"
        if self.directory is not None:
            place = shlex.quote(str(self.directory))
            yield f"  data      {printable(place, 1000)}"
            if self.has_pages:
                yield f"  read      scrapy pages -d {printable(place, 1000)}"
                yield f"            scrapy page URL -d {printable(place, 1000)}"
            if self.totals is not None and self.totals.held:
                yield f"  traps     scrapy frontier --demoted -d {printable(place, 1000)}"
                yield "            resume with -s SITECRAWL_HOLD_TRAPS=False to fetch them as well"
        if self.resume is not None:
            yield f"  resume    {printable(self.resume, 100_000)}"


def _most(counter: Counter[str]) -> str:
    """The most frequent, with their numbers."""
    named = ", ".join(f"{printable(name)} ({n:,})" for name, n in counter.most_common(WORST))
    return f"{named}, ..." if len(counter) > WORST else named


def ending(reason: str, *, full: bool, held: int = 0, silent: int = 0) -> str:
    """Scrapy's finish reason as the rest of "The crawl ...".

    `full`: as many URLs as wanted have been fetched. So many wait: `held` in what is held back as traps, `silent` for
    hosts that ceased to answer.
    """
    if reason == "finished" and full:
        return "stopped: max_pages is reached (to go on, resume with a greater one)"
    if reason == "finished" and (held or silent):
        left = ["what looks like traps"] * (held > 0) + ["hosts that do not answer"] * (silent > 0)
        return f"finished: nothing is left to fetch but {' and '.join(left)}"
    if reason.startswith("closespider_"):
        return f"stopped: {reason.upper()} is reached"
    return _ENDINGS.get(reason, f"stopped: {reason}")


_PASSWORD = re.compile(r"(://[^/@\s:]*:)[^/@\s]+@")


def resume_command(argv: Sequence[str], directory: Path) -> str | None:
    """The command line once more, with `directory` as JOBDIR; None if it was no `scrapy crawl`.

    Passwords in URLs are left out: what is printed is kept in logs.
    `argv` is that of Python's own process (`sys.orig_argv`): Scrapy takes words out of `sys.argv`.
    """
    place = next((n for n, word in enumerate(argv) if Path(word).name == "scrapy"), 0)
    words = argv[place + 1 :]
    if not place or "crawl" not in words:
        return None
    program = argv[: place + 1] if argv[place - 1] == "-m" else [_shortest(argv[place])]
    given = any(re.match(r"(-s|--set=?)?JOBDIR=", word) for word in words)
    shown = [_PASSWORD.sub(r"\1PASSWORD@", word) for word in words]
    return shlex.join([*program, *shown, *(() if given else ("-s", f"JOBDIR={directory}"))])


def _shortest(path: str) -> str:
    """What to type for the program at `path`."""
    found = shutil.which("scrapy")
    return "scrapy" if found is not None and Path(found).resolve() == Path(path).resolve() else path
