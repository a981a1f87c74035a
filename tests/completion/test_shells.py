"""What real shells complete: bash, and zsh and fish where they are."""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import subprocess
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from console import command
from scrapy.settings import Settings
from waiting import PATIENCE, until

from sitecrawl.completion.shells import SHELLS
from sitecrawl.completion.vocabulary import Command, Kind, Option, Vocabulary, vocabulary

COMPLETED = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_sitecrawl_scrapy 2>&1
printf "%s\\n" "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of this project for bash, as the command prints it."""
    done = command("completion", "bash")
    assert done.returncode == 0, done.stderr
    path = tmp_path_factory.mktemp("bash") / "scrapy.bash"
    path.write_text(done.stdout)
    return path


def completed(script: Path, *words: str, cwd: Path | None = None) -> list[str]:
    """What bash offers for the last word of a line; `compopt` only works when a key is pressed, and says so."""
    line = ["bash", "--norc", "-c", COMPLETED, "bash", str(script), "scrapy", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=True, cwd=cwd, timeout=PATIENCE)
    assert done.stderr == ""
    return [one for one in done.stdout.splitlines() if one and "compopt" not in one]


def test_commands(script: Path) -> None:
    """Scrapy's and ours, those that begin as what is typed."""
    assert {"crawl", "shell", "why", "completion", "check-crawl"} <= {*completed(script, "")}
    assert completed(script, "expo") == ["export"]


def test_spiders(script: Path) -> None:
    """Of this project, where a command takes one."""
    assert completed(script, "crawl", "") == ["extract", "focused", "generic", "keyword", "sitemap"]
    assert completed(script, "pages", "") == []


def test_options(script: Path) -> None:
    """Of the command that is typed, and no other's."""
    assert {"--limit", "--format", "--directory", "-d", "--version"} <= {*completed(script, "pages", "-")}
    assert completed(script, "pages", "--work") == []
    assert completed(script, "check-crawl", "--rep") == ["--repair"]


def test_arguments(script: Path) -> None:
    """Names of spiders' arguments, the spiders' own among them, ready for a value."""
    assert completed(script, "crawl", "generic", "-a", "max_p") == ["max_pages="]
    assert completed(script, "crawl", "focused", "-a", "top") == ["topic="]


def test_settings(script: Path) -> None:
    """Ours and Scrapy's; behind the sign there is nothing to offer."""
    assert completed(script, "crawl", "generic", "-s", "SITECRAWL_HEART") == ["SITECRAWL_HEARTBEAT="]
    assert completed(script, "shell", "-s", "JOBD") == ["JOBDIR="]
    assert completed(script, "crawl", "-s", "JOBDIR", "=") == []
    assert completed(script, "crawl", "-s", "JOBDIR", "=", "c") == []


def test_choices(script: Path) -> None:
    """One of a few is known, behind an option or as a word of its own."""
    assert "jsonl" in completed(script, "pages", "--format", "")
    assert completed(script, "export", "w") == ["wacz"]
    assert completed(script, "completion", "") == ["bash", "fish", "zsh"]


def test_directories(script: Path, tmp_path: Path) -> None:
    """Those of crawls first, any other when its name is begun; files where a file is wanted."""
    for name in ("crawls/one two", "crawls/three", "elsewhere"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "else.csv").touch()
    assert sorted(completed(script, "pages", "-d", "", cwd=tmp_path)) == ["crawls/one two", "crawls/three"]
    assert completed(script, "report", "crawls/o", cwd=tmp_path) == ["crawls/one two"]
    assert completed(script, "why", "-d", "el", cwd=tmp_path) == ["elsewhere"]
    assert sorted(completed(script, "export", "-o", "el", cwd=tmp_path)) == ["else.csv", "elsewhere"]


@pytest.mark.parametrize("name", sorted(SHELLS))
def test_the_shell_reads_it(name: str, tmp_path: Path) -> None:
    """Its own check of the syntax, where there is that shell."""
    if (shell := shutil.which(name)) is None:
        pytest.skip(f"there is no {name}")
    path = tmp_path / "script"
    path.write_text(command("completion", name).stdout)
    subprocess.run([shell, "-n", str(path)], check=True, timeout=PATIENCE)


PROBE = """
PS1= PS2=
source {script}
probe() {{ zle complete-word; print -r -- "$BUFFER" >>{out}; BUFFER= }}
zle -N probe
bindkey '^X' probe
print ready >{out}
"""
KEY = b"\x18"


def typed_in_zsh(lines: list[str], folder: Path) -> list[str]:
    """What becomes of each line in a zsh at a terminal when the key is pressed that completes."""
    if (shell := shutil.which("zsh")) is None:
        pytest.skip("there is no zsh")
    script, probe, out = (folder.parent / name for name in ("script", "probe", "out"))
    script.write_text(command("completion", "zsh").stdout)
    probe.write_text(PROBE.format(script=script, out=out))
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "dumb", "ZDOTDIR": str(folder.parent)}
    ends: dict[str, Any] = {"stdin": slave, "stdout": slave, "stderr": slave}
    with subprocess.Popen([shell, "-f", "-i"], cwd=folder, env=env, start_new_session=True, **ends) as process:
        os.close(slave)
        threading.Thread(target=drain, args=(master,), daemon=True).start()
        try:
            os.write(master, f"source {probe}\n".encode())
            for number, line in enumerate(("", *lines)):
                if number:
                    os.write(master, line.encode() + KEY)
                until(partial(has_lines, out, number + 1), line or "zsh is ready")
        finally:
            process.kill()
    return out.read_text().splitlines()[1:]


def has_lines(file: Path, number: int) -> bool:
    return file.exists() and len(file.read_text().splitlines()) >= number


def drain(terminal: int) -> None:
    """Somebody has to read what a terminal shows."""
    with suppress(OSError):
        while os.read(terminal, 65_536):
            pass
    os.close(terminal)


def offered_by_fish(line: str, script: Path, folder: Path) -> list[str]:
    fish = ["fish", "--no-config", "-c", f"source {script}; complete -C $argv[1]", line]
    env = {**os.environ, "HOME": str(folder.parent), "XDG_CONFIG_HOME": str(folder.parent / "config")}
    done = subprocess.run(fish, capture_output=True, text=True, check=True, cwd=folder, env=env, timeout=PATIENCE)
    assert done.stderr == ""
    return [one.partition("\t")[0] for one in done.stdout.splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """In which there are crawls and other files."""
    folder = tmp_path / "folder"
    for name in ("crawls/one two", "elsewhere"):
        (folder / name).mkdir(parents=True)
    (folder / "else.csv").touch()
    return folder


def test_zsh(folder: Path) -> None:
    """A name is followed by a blank, NAME= by none, and a directory by a slash; names are quoted."""
    lines = {
        "scrapy expo": "scrapy export ",
        "scrapy crawl gen": "scrapy crawl generic ",
        "scrapy pages --form": "scrapy pages --format ",
        "scrapy export w": "scrapy export wacz ",
        "scrapy crawl generic -a max_p": "scrapy crawl generic -a max_pages=",
        "scrapy crawl generic -s SITECRAWL_HEART": "scrapy crawl generic -s SITECRAWL_HEARTBEAT=",
        "scrapy crawl generic -s JOBDIR=cr": "scrapy crawl generic -s JOBDIR=cr",
        "scrapy pages -d ": "scrapy pages -d crawls/one\\ two/",
        "scrapy report else": "scrapy report elsewhere/",
        "scrapy export -o else.": "scrapy export -o else.csv ",
    }
    assert dict(zip(lines, typed_in_zsh([*lines], folder), strict=True)) == lines


def test_fish(folder: Path) -> None:
    """The same words, files and directories; those of another command are not among them."""
    if shutil.which("fish") is None:
        pytest.skip("there is no fish")
    script = folder.parent / "script"
    script.write_text(command("completion", "fish").stdout)
    for line, offered in {
        "scrapy expo": {"export"},
        "scrapy crawl gen": {"generic"},
        "scrapy pages --work": set(),
        "scrapy export w": {"wacz"},
        "scrapy crawl generic -a max_p": {"max_pages="},
        "scrapy crawl generic -s SITECRAWL_HEART": {"SITECRAWL_HEARTBEAT="},
        "scrapy pages -d cr": {"crawls/", "crawls/one two"},
        "scrapy export -o else.": {"else.csv"},
    }.items():
        assert set(offered_by_fish(line, script, folder)) == offered, line


def test_fish_is_quoted() -> None:
    """Every line is a command of known form, whatever an option's description says."""
    options = (
        Option(("--text", "-t"), Kind.WORDS, ("a", "b"), "it's a \\ $(touch x); `y`"),
        Option(("-x",), Kind.FILE),
    )
    known = Vocabulary((Command("crawl", "don't", options, Kind.SPIDER),), ("one",), ("seeds",), ("JOBDIR",))
    for line in SHELLS["fish"](known).splitlines()[1:]:
        words = shlex.split(re.sub(r"\\([\\'])", "", line))  # a POSIX shell has no such quotes
        assert words[:3] == ["complete", "-c", "scrapy"]
        assert not {"touch", "x);"} & {*words}


def test_no_name_is_a_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A spider may be called anything; what a shell would run is left out."""
    folder = tmp_path / "odd_spiders"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "import scrapy\nclass A(scrapy.Spider): name = '$(touch x)'\nclass B(scrapy.Spider): name = 'fine'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings = Settings({"SPIDER_MODULES": ["odd_spiders"]})
    assert vocabulary(settings).spiders == ("fine",)


def test_a_shell_that_there_is_not() -> None:
    """One line names those that there are."""
    done = command("completion", "tcsh")
    assert done.returncode == 2
    assert "bash, fish, zsh" in done.stderr
