"""SITECRAWL_FRONTIER: crawls with a frontier of one's own, and what is said of one that is none."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from crawling import HELPERS, PROJECT, scrapy
from localweb import Answer, LocalWeb, linked

from sitecrawl.pagestore import PageReader

PAGE = (PROJECT / "docs" / "design" / "frontier.md").read_text("utf-8")
WEB: dict[str, Answer | str] = {
    "/": linked("/a", "/b", "/gone", "/moved", "/private"),
    "/a": linked("/", "/b", "/a/1"),
    "/b": linked("/a"),
    "/a/1": linked("/"),
    "/moved": Answer(b"", 301, {"Location": "/b/2"}),
    "/b/2": linked("/"),
    "/robots.txt": "User-agent: *\nDisallow: /private\n",
}
PAGES = ["/", "/a", "/a/1", "/b", "/b/2"]


def written(folder: Path) -> None:
    """The modules of the page."""
    modules = re.findall(r"^`(\w+\.py)`:\n\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert [name for name, _code in modules] == ["nearest.py", "kept.py"]
    for name, code in modules:
        assert len(code.splitlines()) < 100
        (folder / name).write_text(code)


def crawl(frontier: str, folder: Path, *words: str, **settings: object) -> tuple[int, str, list[str]]:
    """Exit code, what was said, and the paths of the pages that are stored."""
    with LocalWeb(WEB) as web:
        fixed = {"JOBDIR": folder / "job", "SITECRAWL_FRONTIER": frontier, "LOG_LEVEL": "WARNING"}
        done = scrapy(
            *("crawl", "generic", "-a", f"seeds={web.root}/", *words),
            settings=fixed | settings,
            env={"PYTHONPATH": f"{folder}:{HELPERS}:{PROJECT}"},
        )
    if not (folder / "job" / "warc").exists():
        return done.returncode, done.stderr, []
    with PageReader(folder / "job") as reader:
        stored = [page.url for page in reader.captures() if page.kind == "page" and 200 <= page.status < 300]
    return done.returncode, done.stderr, sorted("/" + url.split("/", 3)[3] for url in stored)


@pytest.mark.parametrize("name", ["nearest.Nearest", "memory_frontier.MemoryFrontier"])
def test_a_crawl_with_another_frontier(name: str, tmp_path: Path) -> None:
    """It fetches all there is, each page once, and says so."""
    written(tmp_path)
    exit_code, said, stored = crawl(name, tmp_path, SITECRAWL_DELAY_FACTOR=0)
    assert (exit_code, stored) == (0, PAGES), said
    assert "The crawl finished: nothing is left to fetch" in said
    assert "Traceback" not in said
    assert re.search(r"responses +7 ", said), said


@pytest.mark.parametrize(
    ("named", "words", "settings", "fault"),
    [
        ("nowhere.Frontier", (), {}, "cannot be loaded: No module named 'nowhere'"),
        ("collections.deque", (), {}, "which is no frontier: it has no "),
        ("shadowing.Shadowing", (), {}, "'shadowing.Shadowing', whose part `hosts` has no live: leave that name"),
        ("sitecrawl.frontier.base.BaseFrontier", (), {}, "it has no add, next, is_finished, done, retry, put_back"),
        (
            "memory_frontier.MemoryFrontier",
            (),
            {"SITECRAWL_WORKERS": 2},
            "Workers share sitecrawl's own frontier alone",
        ),
        ("memory_frontier.MemoryFrontier", ("-a", "recrawl=1"), {}, "recrawl=1 needs sitecrawl's own frontier"),
        ("memory_frontier.MemoryFrontier", ("-a", "again=1"), {}, "again=1 needs sitecrawl's own frontier"),
    ],
)
def test_what_is_none(
    named: str, words: tuple[str, ...], settings: dict[str, object], fault: str, tmp_path: Path
) -> None:
    """One line says what is wrong, and nothing is fetched."""
    (tmp_path / "shadowing.py").write_text(
        "from memory_frontier import MemoryFrontier\nclass Shadowing(MemoryFrontier):\n    hosts = {}\n"
    )
    exit_code, said, stored = crawl(named, tmp_path, *words, **settings)
    assert exit_code != 0
    assert stored == []
    assert fault in said
    assert "Traceback" not in said


def test_one_that_fails(tmp_path: Path) -> None:
    """The crawl ends and says why."""
    (tmp_path / "failing.py").write_text(
        "from memory_frontier import MemoryFrontier\n"
        "class Failing(MemoryFrontier):\n    def next(self):\n        raise KeyError('a.example')\n"
    )
    exit_code, said, stored = crawl("failing.Failing", tmp_path, SITECRAWL_DELAY_FACTOR=0)
    assert (exit_code, stored) == (1, [])
    assert "The frontier failed: KeyError('a.example')" in said
    assert "stopped: its frontier failed, the log says how" in said


def test_rows_in_the_checkpoint(tmp_path: Path) -> None:
    """What a frontier puts into a batch it reads from its listener's database at the next start."""
    written(tmp_path)
    (tmp_path / "rows.py").write_text(
        "from nearest import Nearest\n"
        "class Rows(Nearest):\n"
        "    @classmethod\n"
        "    def from_crawler(cls, crawler, listener):\n"
        "        frontier = super().from_crawler(crawler, listener)\n"
        "        frontier.before = int(listener.database.get('meta', b'plugin/rows') or 0)\n"
        "        print('before:', frontier.before)\n"
        "        return frontier\n"
        "    def prepare(self, batch):\n"
        "        ended = self.before + self.ended.total()\n"
        "        batch.put('meta', b'plugin/rows', str(ended).encode())\n"
    )
    with LocalWeb(WEB) as web:
        printed = [
            scrapy(
                *("crawl", "generic", "-a", f"seeds={web.root}/"),
                settings={"JOBDIR": tmp_path / "job", "SITECRAWL_FRONTIER": "rows.Rows", "SITECRAWL_DELAY_FACTOR": 0},
                env={"PYTHONPATH": f"{tmp_path}:{PROJECT}"},
            ).stdout
            for _ in range(2)
        ]
    assert printed == ["before: 0\n", "before: 8\n"]


def test_a_crawl_that_goes_on(tmp_path: Path) -> None:
    """The frontier that is kept knows what is done, and what waits; `scrapy why` does not, and says so."""
    written(tmp_path)
    settings = {"JOBDIR": tmp_path / "job", "SITECRAWL_FRONTIER": "kept.Kept", "SITECRAWL_DELAY_FACTOR": 0}
    with LocalWeb(WEB) as web:
        for first in (True, False):
            done = scrapy(
                *("crawl", "generic", "-a", f"seeds={web.root}/"),
                settings=settings | ({"CLOSESPIDER_PAGECOUNT": 3} if first else {}),
                env={"PYTHONPATH": f"{tmp_path}:{PROJECT}"},
            )
            assert done.returncode == 0, done.stderr
        asked = web.paths()
    assert re.search(r"it goes on, with [1-4] URLs fetched so far", done.stderr), done.stderr
    assert sorted(asked) == sorted({*WEB} - {"/robots.txt", "/private"} | {"/gone"})
    said = scrapy("why", f"{web.root}/a", "-d", str(tmp_path / "job")).stdout
    assert said.startswith("Not known here: the crawl's frontier is kept.Kept, which has its own records\n"), said
