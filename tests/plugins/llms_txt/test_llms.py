"""llms.txt: asked for once a host, stored, and followed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from crawling import crawl
from localweb import Answer, LocalWeb, Page, linked

from sitecrawl.pagestore import PageReader
from sitecrawl.plugins.llms_txt.asking import _links_in

LLMS = """# A site
> What it is about, see [this](/docs/a "title").

- [B](<b.md>): text, https://other.example/x, and http://site.example/plain.
- [mail](mailto:a@b.example) [](/) [A](/docs/a)
"""


def test_links() -> None:
    """Those of Markdown and plain addresses, each once; long rows of brackets are soon read."""
    assert [link.url for link in _links_in(LLMS, "http://site.example/llms.txt")] == [
        "http://site.example/docs/a",
        "http://site.example/b.md",
        "https://other.example/x",
        "http://site.example/plain",
        "http://site.example/",
    ]
    assert len(list(_links_in("[" * 1_000_000 + "](" * 1_000_000, "http://site.example/llms.txt"))) == 1


def kinds(job: Path) -> dict[str, str]:
    with PageReader(job) as reader:
        return {one.url.partition("//")[2].partition("/")[2]: one.kind for one in reader.captures()}


@pytest.mark.parametrize(
    ("answer", "kind", "is_followed"),
    [
        (Answer(LLMS.encode(), headers={"Content-Type": "text/plain"}), "page", True),
        (Answer(LLMS.encode(), headers={"Content-Type": "text/markdown; charset=utf-8"}), "page", True),
        (linked("/from-soft-404"), "other", False),
        (None, "error", False),
    ],
    ids=["text", "Markdown", "soft 404", "404"],
)
def test_a_crawl(tmp_path: Path, answer: Page | None, kind: str, *, is_followed: bool) -> None:
    """What it lists in scope comes too; what stands there for anything is no page. The host is asked once."""
    pages: dict[str, Page] = {"/": linked("/c"), "/c": "c", "/docs/a": "a", "/b.md": "b", "/from-soft-404": "x"}
    if answer is not None:
        pages["/llms.txt"] = answer
    with LocalWeb(pages) as web:
        for _ in range(2):
            done = crawl(f"{web.root},{web.root}/c", tmp_path / "job", llms_txt=1)
            assert done.returncode == 0, done.stderr
        asked = Counter(web.paths())
    more = {"/docs/a", "/b.md"} if is_followed else set()
    assert asked == Counter({"/", "/c", "/llms.txt", *more})
    assert kinds(tmp_path / "job")["llms.txt"] == kind


def test_not_by_default(tmp_path: Path) -> None:
    """Nobody is asked for it who was not to be."""
    with LocalWeb({"/": linked("/a"), "/a": "a"}) as web:
        assert crawl(web.root, tmp_path / "job").returncode == 0
        assert "/llms.txt" not in web.paths()
