"""Each plug-in taken away in turn, as one who deletes its folder does: what is left crawls, and reads the crawl."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import PROJECT, environment
from localweb import LocalWeb, linked

from sitecrawl.base.plugins import Plugin, of_folder

NEEDED_BY = {name: {other for other, plugin in of_folder().items() if name in plugin.needs} for name in of_folder()}
READING = (("pages", "--format", "urls"), ("frontier",), ("rank",), ("sitemaps",))
"""Commands of the core, which have to run whatever is missing."""
ASKED: dict[str, tuple[str, ...]] = {
    "changes": ("--since", "1d"),
    "export": ("-o", "out.jsonl"),
    "report": ("-o", "out.html"),
    "search": ("words",),
    "why": ("{root}/",),
}
"""Commands of plug-ins, and what they are asked in a crawl; those that need more are asked for their help."""


@pytest.fixture(scope="module")
def web() -> Iterator[LocalWeb]:
    with LocalWeb({"/": linked("/a"), "/a": "<p>words</p>"}) as served:
        yield served


def without(name: str, folder: Path) -> dict[str, str]:
    """An environment in which sitecrawl has all its plug-ins but one."""
    for place, left_out in ((Path(), {"plugins"}), (Path("plugins"), {name})):
        (folder / "sitecrawl" / place).mkdir(parents=True)
        for path in (PROJECT / "sitecrawl" / place).iterdir():
            if path.name not in left_out:
                (folder / "sitecrawl" / place / path.name).symlink_to(path)
    for part in ("middlewares", "pipelines"):
        (folder / part).symlink_to(PROJECT / part)
    return environment(PYTHONPATH=str(folder), SCRAPY_SETTINGS_MODULE="sitecrawl.settings")


def run(env: dict[str, str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-c", "from scrapy.cmdline import execute; execute()", *words]
    return subprocess.run(call, cwd=folder, env=env, capture_output=True, text=True, check=False)


def works(name: str) -> dict[str, Plugin]:
    """What is left without the plug-in `name`, and those that need it."""
    gone = {name}
    while more := {other for one in gone for other in NEEDED_BY[one]} - gone:
        gone |= more
    return {other: plugin for other, plugin in of_folder().items() if other not in gone}


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(of_folder()))
def test_the_rest_works(name: str, web: LocalWeb, tmp_path: Path) -> None:
    """A crawl of two pages, after a dry run where there is one, and all commands; those that are gone say so."""
    env = without(name, tmp_path / "code")
    words = ("crawl", "generic", "-a", f"seeds={web.root}/", "-s", "SITECRAWL_DELAY_FACTOR=0")
    done = run(env, tmp_path, *words, "-a", "dry=1")
    assert (done.returncode, "Traceback" in done.stderr) == (int("dry_run" not in works(name)), False), done.stderr
    done = run(env, tmp_path, *words, "-s", "JOBDIR=job")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    left = works(name)
    asked = [*READING]
    for command in sorted({command for plugin in left.values() for command in plugin.commands}):
        given = [word.format(root=web.root) for word in ASKED.get(command, ("--help",))]
        asked.append((command, *given))
    for command, *more in asked:
        directory = [] if more == ["--help"] else ["-d", "job"]
        done = run(env, tmp_path, command, *directory, *more)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), (command, done.stderr)
    gone = {command for other, plugin in of_folder().items() if other not in left for command in plugin.commands}
    for command in sorted(gone):
        done = run(env, tmp_path, command)
        assert (done.returncode, "of a plug-in that is not here" in done.stdout) == (1, True), (command, done.stderr)
    listed = run(env, tmp_path, "list").stdout.split()
    spiders = {spider.split(".")[2] for plugin in left.values() for spider in plugin.spiders}
    assert spiders <= {*listed}
    assert "generic" in listed
