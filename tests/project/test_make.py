"""What `make crawl` says before it installs anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from crawling import PROJECT

SAYS = "Say what to crawl: make crawl SEEDS=https://example.com, or JOB=site.toml"


def make(*words: str, path: Path | None = None, **kinds: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": f"{path}:/usr/bin:/bin" if path is not None else "/usr/bin:/bin", **kinds}
    return subprocess.run(["make", *words], cwd=PROJECT, env=env, capture_output=True, text=True, check=False)


def test_nothing_to_crawl(tmp_path: Path) -> None:
    """Without SEEDS and JOB it says what is missing, and makes no environment."""
    done = make("crawl", f"VENV={tmp_path}/venv")
    assert (done.returncode, SAYS in done.stdout) == (2, True)
    assert not (tmp_path / "venv").exists()


def test_a_python_that_is_too_old(tmp_path: Path) -> None:
    """It is named, with those that will do, before pip is asked for anything."""
    old = tmp_path / "python3"
    old.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'import sys; sys.version_info = (3, 9, 2); exec(sys.argv[1])' \"$2\"\n"
    )
    old.chmod(0o755)
    done = make("crawl", "SEEDS=http://a.example", f"VENV={tmp_path}/venv", path=tmp_path)
    assert done.returncode == 2
    assert "python3 is 3.9, and sitecrawl needs 3.11 to 3.14" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_extras(tmp_path: Path) -> None:
    """EXTRAS are installed after all else, into the same environment; without it none is."""
    plain, more = (
        make("--dry-run", "crawl", "SEEDS=http://a.example", f"VENV={tmp_path}/venv", *words).stdout
        for words in ([], ["EXTRAS=export,render"])
    )
    assert more.count("pip install") == plain.count("pip install") + 1
    assert "--editable '.[export,render]'" in more


def test_what_has_hashes_is_installed_alone() -> None:
    """pip refuses whatever has none beside it, so no command of the documents names a package beside a lock."""
    locks = {path.name for path in (PROJECT / "requirements").iterdir()}
    for document in [*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")]:
        for command in re.findall(r"^pip install (.*)$", document.read_text(), re.MULTILINE):
            words = command.partition("#")[0].split()
            if any(name in words[-1] for name in locks):
                assert [word for word in words if not word.startswith("-")] == words[-1:], document
