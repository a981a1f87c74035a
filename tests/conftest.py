"""What holds for all tests. The folders mirror the rooms of the product; what tests share is in `helpers`."""

from __future__ import annotations

import gc
import logging
import re
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from alone import pytest_configure  # noqa: F401 - pytest takes the hook from here
from hypothesis import HealthCheck, settings

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a job in a shell's background has it, and its children
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says something of the machine and what else it does, and nothing of the code.
settings.register_profile("deep", deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("deep"), derandomize=True, max_examples=50)
settings.load_profile("gate")

LONGEST: Final = (
    "crash/test_torn_files.py",
    "crash/test_cluster_failpoints.py",
    "crash/test_crawl_failpoints.py",
    "console/test_many_workers.py",
    "whole_crawls/test_politeness.py",
    "cluster/test_repair.py",
    "dashboard/test_cluster.py",
    "crash/test_repair_failpoints.py",
    "frontier/test_contract.py",
    "whole_crawls/test_hostile.py",
    "project/test_again.py",
    "spiders/test_generic.py",
    "dashboard/test_live.py",
    "plugins/ftp/test_handler.py",
    "tests/test_scheduler.py",
    "whole_crawls/test_private_names.py",
    "checking/test_check_crawl.py",
    "crash/test_command_failpoints.py",
    "recrawl/test_revisits.py",
    "frontier/test_trap_judge.py",
    "frontier/test_no_page_is_lost.py",
    "tests/test_dupefilter.py",
    "sitemaps/test_crawled.py",
    "plugins/remote/test_copy.py",
    "cluster/test_goes_on.py",
    "seen/test_exact.py",
    "cluster/test_shared_frontier.py",
    "frontier/test_forms.py",
    "cluster/test_worker.py",
    "benchmarks/test_judgement.py",
    "crash/test_disk_full.py",
    "benchmarks/test_sites.py",
    "benchmarks/test_order.py",
    "dashboard/test_browser.py",
    "project/test_installed.py",
    "crash/test_kills.py",
    "whole_crawls/test_shutdown.py",
    "project/test_documented_usage.py",
    "crash/test_cluster_faults.py",
    "whole_crawls/test_real_sites.py",
    "whole_crawls/test_costs.py",
    "whole_crawls/test_long_pages.py",
    "whole_crawls/test_traplab.py",
)
"""Files that take longest, the longest first. They come first: whichever of files that are run beside one
another began last would have the machine to itself."""


ALL_DEEP: Final = re.compile(r"^pytestmark = pytest\.mark\.deep$", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--again", action="store_true", help="run each test that failed again, alone")
    parser.addoption("--tenth", type=int, metavar="N", help="only one in ten of the tests, the Nth (0 to 9)")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A file of the deep tier is not even imported for the gate."""
    if config.option.markexpr == "not deep" and collection_path.match("test_*.py"):
        return True if ALL_DEEP.search(collection_path.read_text(encoding="utf-8")) else None
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Thousands of tests are no garbage: they are not looked through as they come, nor at each collection of garbage
    while tests run.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    turns = {name: turn for turn, name in enumerate(LONGEST)}
    items.sort(key=lambda item: turns.get("/".join(item.path.parts[-2:]), len(LONGEST)))
    if (tenth := config.getoption("tenth")) is not None:
        mine = [item for item in items if zlib.crc32(item.nodeid.encode()) % 10 == tenth % 10]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(mine)])
        items[:] = mine


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named by their argument: packed ones hold the time, and workers must name a test alike to run it."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def _root_tells_warnings() -> None:
    """Scrapy lets the root logger tell everything once it has configured its logs, in all tests that come after."""
    logging.getLogger().setLevel(logging.WARNING)
