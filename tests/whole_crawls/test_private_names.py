"""What Scrapy has no public name for may be called otherwise tomorrow: a crawl says so, and gets all pages."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import crawling
import pytest
import scrapy
from compiled_core import in_c
from crawling import HELPERS, PROJECT, environment, stats_of, with_settings
from localweb import LocalWeb
from selectolax import lexbor
from waiting import PATIENCE

from sitecrawl.base.errors import OptionError
from sitecrawl.crawl import privates
from sitecrawl.crawl.privates import KNOWN, NAMES, Use, _is_there, check

PAGES = {
    "/": "".join(f'<a href="/{n}">{n}</a>' for n in range(9)),
    **{f"/{n}": f"Page {n}, in words" for n in range(9)},
}
SETTINGS = {"SITECRAWL_DELAY_FACTOR": 0, "STATS_DUMP": True, "LOG_LEVEL": "INFO"}
ALL = sorted({name for names in NAMES.values() for name in names})
FIRST = {name: next(use for use, names in NAMES.items() if name in names) for name in ALL}
"""Of each, what it is for in the first place."""
BATCHES = [
    {Use.CLOSING},
    {Use.WAKING, Use.OPTIONS, Use.DOWNLOADS},
    {Use.IN_PROGRESS, Use.SPIDER_MIDDLEWARES},
    {Use.UNDER_WAY, Use.SLOTS},
    {Use.REQUESTS},
]
"""Uses whose names go at a time in the gate, all of each, for any of them ends it. No two are code of ours in the
place of Scrapy's.
"""
Run = Callable[..., "subprocess.CompletedProcess[str]"]
WARNINGS = re.compile(r"\[sitecrawl\.crawl\.privates\] WARNING: (.*)")


def program(*program: str, **env: str) -> Run:
    """A way to run `scrapy`: as a Python of its own with this program."""
    return lambda *words: subprocess.run(
        [sys.executable, *program, *words],
        cwd=PROJECT,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def crawled(run: Run, tmp_path: Path) -> tuple[str, list[str]]:
    """What a crawl has said that gets each page once, and its warnings of what is missing."""
    with LocalWeb(PAGES) as web:
        settings = {**SETTINGS, "JOBDIR": tmp_path / "job"}
        done = run(*with_settings("crawl", "generic", "-a", f"seeds={web.root}/", settings=settings))
        asked = [hit.path for hit in web.hits]
    assert done.returncode == 0, done.stderr
    assert set(asked) == {*PAGES, "/robots.txt"}  # more than once what a busy machine was late with
    assert stats_of(done.stderr)["item_scraped_count"] == len(PAGES)
    assert "Traceback" not in done.stderr
    return done.stderr, WARNINGS.findall(done.stderr)


def test_they_are_there() -> None:
    """All of them, in this Scrapy; and the crawls below go without each use."""
    assert not [name for name in ALL if not _is_there(name)]
    assert sorted(use for batch in BATCHES for use in batch) == sorted(NAMES)


def test_a_crawl(tmp_path: Path) -> None:
    """It warns where this Scrapy is none that it knows, and of nothing else."""
    said, warnings = crawled(crawling.scrapy, tmp_path)
    unknown = f"sitecrawl has not been tried with Scrapy {scrapy.__version__}"
    assert [unknown in warning for warning in warnings] == [True] * (scrapy.version_info[:2] not in KNOWN), said


def has_other_names(names: list[str], tmp_path: Path) -> None:
    _, (warning,) = crawled(program(str(HELPERS / "renamed_scrapy.py"), ",".join(names)), tmp_path)
    gone = {name.rpartition(".")[2] for name in names}
    assert set(re.findall(r"[\w.]+:[\w.]+", warning)) == {name for name in ALL if name.rpartition(".")[2] in gone}


@pytest.mark.parametrize("uses", BATCHES, ids=lambda uses: min(uses, key=list(NAMES).index).name)
def test_other_names(uses: set[Use], tmp_path: Path) -> None:
    """Without them the crawl gets each page once, and one warning has the names that are gone."""
    has_other_names([name for name in ALL if FIRST[name] in uses], tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("name", ALL)
def test_another_name(name: str, tmp_path: Path) -> None:
    """So it is without any one of them."""
    has_other_names([name], tmp_path)


def test_selectolax(tmp_path: Path) -> None:
    """A page's tree is read without C where the library has no such name."""
    in_c()
    package = shutil.copytree(Path(lexbor.__file__).parent, tmp_path / "front" / "selectolax")
    library = package / Path(lexbor.__file__).name
    library.write_bytes(library.read_bytes().replace(b"\0lxb_dom_node_type_noi\0", b"\0lxb_dom_node_type_non\0"))
    _, (warning,) = crawled(program("-m", "scrapy", PYTHONPATH=str(package.parent), SITECRAWL_PURE=""), tmp_path)
    assert "without reading a page's tree in C: the library of selectolax does not show its functions" in warning


def test_nobody_knows_what_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without both ways to ask for it no crawl begins, and it is said which Scrapy to install."""
    check()
    monkeypatch.setattr(privates, "has", lambda use: use not in (Use.IN_PROGRESS, Use.UNDER_WAY))
    with pytest.raises(OptionError, match=r"does not say what it works on: install Scrapy 2\.19"):
        check()
