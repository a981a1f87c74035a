"""The locks that `make crawl` and the container image install from, and what `make audit` makes of the first."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tomllib

import pytest
from crawling import PROJECT

LOCK = (PROJECT / "requirements" / "crawl.txt").read_text()
IMAGE_LOCK = (PROJECT / "requirements" / "image.txt").read_text()
PINNED = re.compile(r"^([a-z0-9-]+)==\S+(?: ; [^\\]+?)? \\$")
HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")


def requirements(lock: str) -> list[list[str]]:
    """The lines of each requirement, without comments."""
    found: list[list[str]] = []
    for line in lock.splitlines():
        if not line.startswith(" "):
            found.append([])
        if not line.lstrip().startswith("#"):
            found[-1].append(line)
    return found


@pytest.mark.parametrize("lock", [LOCK, IMAGE_LOCK], ids=["crawl", "image"])
def test_every_line_is_a_version_with_hashes(lock: str) -> None:
    """No range, no URL, no index, no option: what pip installs is what somebody has looked at."""
    for first, *hashes in requirements(lock):
        assert PINNED.match(first), first
        assert hashes, first
        assert [line for line in hashes if not HASH.match(line)] == []
        assert not hashes[-1].endswith("\\")
    assert "://" not in lock


def test_every_dependency_is_locked() -> None:
    """All that pyproject.toml asks for, and the extra that `make crawl` has always had."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["fast"]]
    names = {re.split(r"[\[<>=; ]", requirement)[0].replace(".", "-") for requirement in asked}
    assert names <= {str(first.partition("==")[0]) for first, *_ in requirements(LOCK)}


def test_versions_are_those_that_are_asked_for() -> None:
    """A lock that was not renewed when a bound was raised would not be what the tests ran with."""
    from packaging.requirements import Requirement

    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    versions = dict(re.findall(r"^([a-z0-9-]+)==([^ ]+)", LOCK, re.MULTILINE))
    for text in [*project["dependencies"], *project["optional-dependencies"]["fast"]]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(versions[wanted.name.replace(".", "-")]), text


def test_the_image_has_the_same_versions() -> None:
    """And besides them what it is asked to have: a crawl in a container is the crawl that was tested outside."""
    crawl, image = (dict(re.findall(r"^([a-z0-9-]+)==([^ ]+)", lock, re.MULTILINE)) for lock in (LOCK, IMAGE_LOCK))
    assert {name: image.get(name) for name in crawl} == crawl
    assert {"scrapyd", "setuptools"} <= image.keys() - crawl.keys() <= {"scrapyd", "setuptools", "pywin32"}


def test_make_installs_nothing_else() -> None:
    """`make crawl` asks pip for hashes, and for the project itself without its dependencies."""
    words = ["make", "--dry-run", "--always-make", "crawl", "SEEDS=http://a.example"]
    said = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    installs = [line.partition(" pip ")[2] for line in said.splitlines() if " pip install " in line]
    assert installs == [
        "install --quiet --upgrade pip",
        "install --disable-pip-version-check --require-hashes --requirement requirements/crawl.txt",
        "install --disable-pip-version-check --no-deps --editable .",
    ]


@pytest.mark.parametrize(
    ("packages", "status", "line"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], 0, "1 packages audited, 0 known weaknesses"),
        (
            [{"name": "a", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}],
            1,
            "a 1: CVE-1, mended in 2",
        ),
        ([{"name": "a", "skip_reason": "not found"}], 2, "Not audited, for the advisories cannot be asked from here"),
    ],
)
def test_what_nobody_was_asked_about_is_not_sound(
    packages: list[dict[str, object]], status: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An audit without advisories does not pass."""
    spec = importlib.util.spec_from_file_location("audit", PROJECT / ".ci" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    audit = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(audit)
    assert audit.told(packages) == status
    assert line in capsys.readouterr().out
