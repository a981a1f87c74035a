"""What a page costs, in counts: they are the same on every machine, however busy it is.

A crawl of a small synthetic web runs under Python's profiler; docs/performance.md tells what the counts mean in time.
"""

from __future__ import annotations

import pstats
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

import pytest
from crawling import with_settings
from failpoints import PAGES as CHECKPOINT
from fleet import BENCHMARKS, web_of
from killing import command

from sitecrawl.base.compiled import native

sys.path.append(str(BENCHMARKS))

import profiling

PAGES, HOSTS, LINKS = 600, 20, 40

Place = tuple[str, int, str]
Profile = Mapping[Place, tuple[int, int, float, float, Mapping[Place, tuple[int, int, float, float]]]]
"""File, line and function: calls that are no recursion, calls, seconds in it, seconds with its calls, by caller."""
Calls = Callable[[str, str], float]

IMPORTS = ("<frozen importlib", "importlib", "typing", "re/_", "dataclasses", "attr/", "zope/", "inspect", "enum")
CALLS = {
    "engine": (690, 800),
    "frontier": (615, 670),
    "download": (390, 390),
    "crawl, progress, the rest of ours": (230, 280),
    "store": (205, 275),
    "credit": (140, 190),
    "parse": (185, 960),
    "URL": (116, 116),
    "seen": (53, 83),
    "database": (42, 42),
    "duplicates": (20, 58),
}
"""A part's calls a page, at most, with the compiled core and without: a tenth more than in November 2026, or a fifth
where some come with time.
"""


@pytest.fixture(scope="module")
def seeds() -> Iterator[str]:
    """The seeds of a web that is served meanwhile."""
    with web_of(PAGES, HOSTS, links=LINKS) as web:
        yield ",".join(web.seeds)


@pytest.fixture(scope="module")
def profile(seeds: str, tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """Of a crawl of all of it: how often each function was called."""
    folder = tmp_path_factory.mktemp("costs")
    settings = {"JOBDIR": folder / "job", "SITECRAWL_DELAY_FACTOR": 0, "STATS_DUMP": True, "LOG_LEVEL": "INFO"}
    words = ("crawl", "generic", "-a", f"seeds={seeds}", "--profile", str(folder / "profile"))
    log, checkpoints = folder / "log", {CHECKPOINT: str(PAGES // 6)}
    assert command(with_settings(*words, settings=settings), log, **checkpoints) == 0, log.read_text()
    said = log.read_text()
    assert f"'links/followed': {PAGES * LINKS}" in said or f"2xx pages              {PAGES}" in said
    stats: Profile = vars(pstats.Stats(str(folder / "profile")))["stats"]
    return stats


@pytest.fixture(scope="module")
def calls(profile: Profile) -> Calls:
    """Calls a page of the function called so in a file that ends so."""

    def count(file: str, name: str) -> float:
        found = [
            value[1] for (path, _, function), value in profile.items() if path.endswith(file) and function == name
        ]
        assert found, f"{name} of {file} is not called at all"
        return sum(found) / PAGES

    return count


def test_a_request_is_built_for_what_is_fetched(calls: Calls) -> None:
    """One a page and one a robots.txt, and none for the forty links of each."""
    assert calls("scrapy/http/request/__init__.py", "__init__") <= 1 + HOSTS / PAGES + 0.01


def test_a_page_is_parsed_once(calls: Calls) -> None:
    """For its links, its title and its text together."""
    assert calls("sitecrawl/page/markup.py", "elements") == 1
    assert calls("sitecrawl/page/links.py", "read_page") == 1


def test_a_url_is_parsed_once(calls: Calls) -> None:
    """Not at each of the forty places that link to it, nor at each place on its way: a new URL is looked at where it
    is found and when it is fetched, and some for each host, all of which are seeds. As it stands there it needs no
    parser, which sees its host alone.
    """
    assert calls("sitecrawl/urls/url.py", "_plain") <= 2 + 7 * HOSTS / PAGES + 0.01
    assert calls("ada_url/ada_adapter.py", "normalize_url") <= 6 * HOSTS / PAGES + 0.01
    assert calls("sitecrawl/urls/fingerprint.py", "url") <= 3


def test_the_database_is_asked_in_batches(calls: Calls) -> None:
    """One look-up a page says whether its content is known; the rest comes in one call a checkpoint."""
    assert calls("sitecrawl/crawldir/database.py", "get") <= 0.2
    assert calls("sitecrawl/crawldir/database.py", "get_many") <= 1.3
    assert calls("sitecrawl/crawldir/database.py", "write") <= 0.2


def test_a_page_makes_few_rows(calls: Calls) -> None:
    """Most are records of the URLs that it links to; every row that is written costs 5 us. A checkpoint has rows of
    hosts.
    """
    checkpoints = calls("sitecrawl/crawldir/database.py", "write")
    assert calls("sitecrawl/crawldir/database.py", "put") <= 28 + 5 * HOSTS * checkpoints


def test_a_file_is_written_to_once_a_page(calls: Calls) -> None:
    """Request and response go to the WARC file together."""
    assert calls("~", "<method 'write' of '_io.FileIO' objects>") <= 1 + (HOSTS + 5) / PAGES


def test_a_part_takes_so_many_calls(profile: Profile) -> None:
    """Of functions of its own, and of others that it calls itself, with what is left of the start-up. Whoever needs
    more should know.
    """
    calls = Counter[str]()
    for (path, _, _), (_, number, _, _, callers) in profile.items():
        if any(part in path for part in IMPORTS):
            continue
        if (part := profiling.part_of(path)) is not None:
            calls[part] += number
        else:
            for (caller, _, _), (by_caller, *_) in callers.items():
                calls[profiling.part_of(caller) or profiling.ENGINE] += by_caller
    found = {part.partition(":")[0]: round(number / PAGES) for part, number in calls.items()}
    found.pop("start-up", 0)
    assert found.keys() == CALLS.keys()
    beyond = {part: number for part, number in found.items() if number > CALLS[part][native is None]}
    assert not beyond, found
