"""The recipes for cron and systemd run as they stand there, in a folder that is no Scrapy project."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from crawling import PROJECT
from localweb import LocalWeb, linked
from waiting import PATIENCE

pytestmark = pytest.mark.deep

RECIPES = (PROJECT / "docs" / "recrawling.md").read_text()
JOB = """
[crawl]
seeds = ["{root}/"]
[politeness]
delay_factor = 0
[settings]
SITECRAWL_ALLOW_PRIVATE = true
"""


def cron() -> str:
    """The first line that is no request to scrapyd."""
    found = re.search(r"^17 3 \* \* \*  (cd .*)$", RECIPES, re.MULTILINE)
    assert found
    return found[1]


def systemd() -> str:
    """What the unit does, as shell commands."""
    unit = dict(line.split("=", 1) for line in RECIPES.splitlines() if re.match(r"[A-Z]\w+=", line))
    return (
        f"cd {unit['WorkingDirectory']} && export {unit['Environment']} "
        f"&& {unit['ExecStart']} && {unit['ExecStartPost']}"
    )


@pytest.mark.parametrize("recipe", [cron(), systemd()], ids=["cron", "systemd"])
def test_a_page_more_each_night(tmp_path: Path, recipe: str) -> None:
    """Each night's file has what is new since the one before. The environment is as bare as theirs."""
    folder = tmp_path / "crawls"
    folder.mkdir()
    (folder / ".venv").symlink_to(sys.prefix)
    command = recipe.replace("/srv/crawls", shlex.quote(str(folder)))
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    pages = dict[str, str]()
    with LocalWeb(pages) as web:
        (folder / "site.toml").write_text(JOB.format(root=web.root))
        for new in ("/a", "/b"):
            pages |= {"/": linked("/a", new), new: linked("/", title=new)}
            done = subprocess.run(
                ["/bin/sh", "-c", command], env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
            assert f'"{web.root}{new}"' in (folder / "new.jsonl").read_text()
