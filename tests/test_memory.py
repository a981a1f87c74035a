"""Cycle collector and malloc while a crawl runs."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys

import pytest
from scrapy import Spider
from scrapy.utils.test import get_crawler

from sitecrawl.memory import Memory

IS_GNU = hasattr(ctypes.CDLL(None), "gnu_get_libc_version")


def test_the_collector_runs_less_often_while_a_crawl_runs() -> None:
    """What was set before is set again afterwards."""
    before = gc.get_threshold()
    extension = Memory.from_crawler(get_crawler(Spider, {"SITECRAWL_GC_THRESHOLD": 12_345}))
    extension.spider_opened()
    assert gc.get_threshold() == (12_345, *before[1:])
    extension.spider_closed()
    assert gc.get_threshold() == before


def test_the_collector_may_be_left_alone() -> None:
    """0 says so."""
    before = gc.get_threshold()
    extension = Memory.from_crawler(get_crawler(Spider, {"SITECRAWL_GC_THRESHOLD": 0}))
    extension.spider_opened()
    assert gc.get_threshold() == before


# Large blocks that are freed and taken again, between small ones that stay: bytes in use and bytes held at the end.
HELD = """
import ctypes, re, sys, threading
from sitecrawl.memory import give_back
print(give_back() if sys.argv[1] == "yes" else None)
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]

def take(size):
    block = libc.malloc(size)
    libc.memset(block, 1, size)
    return block

def work():
    for _ in range(3):
        for block in [(take(4 << 20), take(64))[0] for _ in range(10)]:
            libc.free(block)

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
pages = open("/proc/self/statm").read().split()[1]
print(int(pages) * 4 >> 10)
"""


def held(words: str, **environment: str) -> tuple[str, int]:
    """What `give_back` said, and the megabytes of the process at the end."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    done = subprocess.run(
        [sys.executable, "-c", HELD, words], env={**env, **environment}, capture_output=True, text=True, check=True
    )
    answer, megabytes = done.stdout.split()
    return answer, int(megabytes)


@pytest.mark.skipif(not IS_GNU, reason="the GNU C library's malloc")
def test_what_is_freed_goes_back() -> None:
    """By default the first large block that is freed makes malloc keep all that follow."""
    before, after = held("no"), held("yes")
    assert after[0] == "True"
    assert after[1] < before[1] - 40


def test_the_users_own_settings_of_malloc_stand() -> None:
    """Who has set malloc by its environment is not overruled."""
    assert held("yes", MALLOC_ARENA_MAX="2")[0] == "False"
