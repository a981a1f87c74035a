"""sitecrawl as others get it: an egg and a wheel, built from the files under version control, in environments of
their own.

An environment is a virtual one whose only `sitecrawl` is the artefact that it was made for. What sitecrawl depends on
is not installed once more: a `.pth` file names a folder of links to the packages of this interpreter, all but
sitecrawl itself and what an editable installation leaves of it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from crawling import PROJECT, environment
from waiting import PATIENCE

PARTS = ("sitecrawl", "middlewares", "pipelines")
_FILES = ("pyproject.toml", "setup.py", "scrapy.cfg", "Makefile", "README.md", "LICENSE")


def copy_of_project(folder: Path) -> Path:
    """What a clean checkout has of the packages and the files that build them."""
    for part in PARTS:
        shutil.copytree(PROJECT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in _FILES:
        shutil.copy(PROJECT / name, folder / name)
    return folder


def build_wheel(project: Path, folder: Path) -> Path:
    """Without a network, with this environment's setuptools."""
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "-w", str(folder))
    run([sys.executable, "-m", "pip", "wheel", *options, str(project)], cwd=folder)
    return next(folder.glob("scrapy_sitecrawl-*.whl"))


def build_egg(project: Path, folder: Path) -> Path:
    """As scrapyd-client builds it."""
    egg = folder / "sitecrawl.egg"
    run([str(Path(sys.executable).parent / "scrapyd-deploy"), "--build-egg", str(egg)], cwd=project)
    return egg


def run(command: list[str], *, cwd: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    """Run to the end, and show what it said if it failed."""
    done = subprocess.run(
        command, cwd=cwd, env=environment(**changes), capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@dataclass(frozen=True)
class Environment:
    """A virtual environment, with no sitecrawl before `install` or `add_egg`."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Environment:
        run([sys.executable, "-m", "venv", "--without-pip", str(folder)], cwd=folder.parent)
        dependencies = folder / "dependencies"
        dependencies.mkdir()
        for package in Path(sysconfig.get_path("purelib")).iterdir():
            if "sitecrawl" not in package.name and package.suffix != ".pth":
                dependencies.joinpath(package.name).symlink_to(package)
        made = cls(folder)
        made.packages.joinpath("dependencies.pth").write_text(f"{dependencies}\n")
        return made

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def packages(self) -> Path:
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.folder)}))

    def install(self, wheel: Path) -> None:
        options = ("--no-deps", "--no-index", "--no-compile", "--quiet")
        run([sys.executable, "-m", "pip", "--python", self.python, "install", *options, str(wheel)], cwd=self.folder)

    def add_egg(self, egg: Path) -> None:
        """Put the zipped egg on the path, as easy_install did."""
        self.packages.joinpath("egg.pth").write_text(f"{egg}\n")

    def scrapy(self, *words: str, cwd: Path, **changes: str) -> subprocess.CompletedProcess[str]:
        command = [self.python, "-m", "scrapy", *words]
        return subprocess.run(
            command,
            cwd=cwd,
            env=environment(**changes),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def where(self, module: str, cwd: Path) -> str:
        """The file that `import` finds."""
        return run([self.python, "-c", f"import {module}; print({module}.__file__)"], cwd=cwd).stdout.strip()
