"""What a command imports: a part that nobody asks for is not there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from crawling import PROJECT, environment
from localweb import LocalWeb

MOST = 802
"""Modules that a crawl imports besides those of Python's own library. Scrapy's own smallest crawl has 584."""
MOST_COMPILED = 32
"""Regular expressions of ours that are compiled in such a crawl; a hundred more are in what it imports."""
UNUSED = frozenset(
    {"redis", "scrapy_redis", "sqlalchemy", "jsonschema", "jinja2", "yaml", "requests", "urllib3", "tldextract",
     "aiohttp", "playwright", "rich", "regex", "pyarrow", "sklearn"}
)  # fmt: skip
"""Packages that a crawl by one process does not use where nobody looks: at a terminal, or at the dashboard's page."""
UNUSED_PARTS = frozenset(
    {"scrapy.core.downloader.handlers.http11", "sitecrawl.cluster.shared_frontier", "sitecrawl.cluster.connection",
     "sitecrawl.console.many_workers", "sitecrawl.plugins.remote.copy",
     "sitecrawl.plugins.logins.form_login", "sitecrawl.plugins.ftp.handler", "sitecrawl.plugins.jobs.job",
     "sitecrawl.plugins.logins.middleware",
     "sitecrawl.plugins.dashboard.web"}
)  # fmt: skip
PLUGIN = re.compile(r"sitecrawl\.plugins\.(\w+)\.(?!spider$)")
USED_PLUGINS = {"checking", "dashboard"}
"""Of which more is imported than the declaration, and the spiders: one reads links again if a repair has left that to
the crawl, the other keeps the history."""
_TELL = """
import atexit, json, re, sys
from pathlib import Path
told = Path(sys.argv[1])
def tell():
    told.write_text(json.dumps([[name, getattr(module, "__file__", None)] for name, module in sys.modules.items()]))
    ours = [vars(module) for name, module in list(sys.modules.items()) if name.startswith("sitecrawl.")]
    compiled = {id(value) for values in ours for value in values.values() if is_compiled(value)}
    told.with_name("compiled").write_text(str(len(compiled)))
def is_compiled(value):
    return isinstance(value, re.Pattern) or (type(value).__name__ == "_Later" and "_compiled" in vars(value))
atexit.register(tell)
from scrapy.cmdline import execute
execute(["scrapy", *sys.argv[2:]])
"""
_ITEMS = frozenset({"annotated_types", "pydantic", "pydantic_core", "typing_inspection"})
_LIBRARY = str(Path(json.__file__).parents[1])


def imported(tmp_path: Path, *words: str) -> dict[str, str]:
    """The modules of a new process that has run `scrapy` with these words, and their files."""
    told = tmp_path / "modules.json"
    env = environment(SCRAPY_SETTINGS_MODULE="sitecrawl.settings")
    done = subprocess.run(
        [sys.executable, "-c", _TELL, str(told), *words],
        cwd=PROJECT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: file or "" for name, file in json.loads(told.read_text())}


def besides_library(modules: dict[str, str]) -> set[str]:
    """The files of `modules` that come neither with Python nor with what itemadapter imports if it is there."""
    files = {file for name, file in modules.items() if name.partition(".")[0] not in _ITEMS}
    return {file for file in files if file and ("site-packages" in file or not file.startswith(_LIBRARY))}


def packages(modules: dict[str, str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], Path]:
    """The modules of a crawl of two pages by the spider `generic`, and its directory."""
    place = tmp_path_factory.mktemp("start")
    job = place / "job"
    with LocalWeb({"/": '<a href="/more">more</a>', "/more": "<p>words</p>"}) as web:
        words = (
            "crawl",
            "generic",
            "-a",
            f"seeds={web.root}/",
            "-s",
            f"JOBDIR={job}",
            "-s",
            "SITECRAWL_DELAY_FACTOR=0",
        )
        return imported(place, *words), job


def test_a_crawl_imports_what_it_uses(crawled: tuple[dict[str, str], Path]) -> None:
    """No package and no part that is switched off, and no more than so many modules."""
    modules, _ = crawled
    assert packages(modules) & UNUSED == set()
    assert modules.keys() & UNUSED_PARTS == set()
    assert {part[1] for name in modules if (part := PLUGIN.match(name))} == USED_PLUGINS
    assert len(besides_library(modules)) <= MOST


def test_a_crawl_compiles_what_it_uses(crawled: tuple[dict[str, str], Path]) -> None:
    """Not each expression of each module."""
    _, job = crawled
    assert 0 < int((job.parent / "compiled").read_text()) <= MOST_COMPILED


@pytest.mark.parametrize("words", [("pages",), ("why", "http://127.0.0.1/"), ("search", "words")], ids=lambda w: w[0])
def test_a_command_imports_no_crawl(
    words: tuple[str, ...], crawled: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    """Commands that read a crawl have neither Redis nor the crawl's engine, nor what other commands need."""
    _, job = crawled
    modules = imported(tmp_path, *words, "-d", str(job))
    assert packages(modules) & UNUSED == set()
    assert modules.keys() & {"sitecrawl.crawl.build", "sitecrawl.scheduler", "sitecrawl.addon"} == set()
