"""What holds for all tests. The folders mirror the rooms of the product; what tests share is in `helpers`."""

from __future__ import annotations

from typing import Final

import pytest
from alone import pytest_addoption, pytest_configure  # noqa: F401 - pytest takes its hooks from here
from hypothesis import HealthCheck, settings

# How long an example takes says something of the machine and what else it does, and nothing of the code.
settings.register_profile("deep", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("gate", settings.get_profile("deep"), derandomize=True)
settings.load_profile("gate")

LONGEST: Final = (
    "crash/test_torn_files.py",
    "checking/test_check_crawl.py",
    "cluster/test_worker.py",
    "spiders/test_generic.py",
    "sitemaps/test_crawled.py",
    "benchmarks/test_judgement.py",
    "frontier/test_forms.py",
    "crash/test_disk_full.py",
    "commands/test_page.py",
    "dashboard/test_live.py",
    "console/test_progress.py",
    "whole_crawls/test_politeness.py",
    "benchmarks/test_sites.py",
    "commands/test_keywordhunter.py",
    "project/test_parts.py",
    "dashboard/test_browser.py",
    "project/test_installed.py",
    "extensions/test_download_handler.py",
    "crash/test_kills.py",
    "whole_crawls/test_shutdown.py",
    "project/test_documented_usage.py",
    "crash/test_cluster_faults.py",
    "whole_crawls/test_real_sites.py",
)
"""Files that take longest, the longest first. They come first: whichever of files that are run beside one
another began last would have the machine to itself."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    turns = {name: turn for turn, name in enumerate(LONGEST)}
    items.sort(key=lambda item: turns.get("/".join(item.path.parts[-2:]), len(LONGEST)))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are named by their argument: packed ones hold the time, and workers must name a test alike to run it."""
    return argname if isinstance(val, bytes) else None
