"""The dashboard's page for searches."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from pagestore_helpers import exchange, page

from sitecrawl.pagestore import WarcStore
from sitecrawl.pagestore.workers import open_pages
from sitecrawl.plugins.dashboard.searching import SearchPage
from sitecrawl.plugins.export.fulltext import SearchIndex
from sitecrawl.plugins.export.pages import Pages

HTML = [(b"Content-Type", b"text/html; charset=utf-8")]
SCRIPT = "<script>alert(1)</script>"


def shown(directory: Path, words: str) -> str:
    return asyncio.run(SearchPage(directory).render(words))


def indexed(directory: Path) -> None:
    store = WarcStore(directory)
    body = "Words &lt;b&gt;of\x02\x1b[2J &lt;script&gt;alert(1)&lt;/script&gt; \u202e a page".encode()
    one = exchange("http://a.example/?'\"<x>", body, headers=HTML)
    store.put(one, page(one, title=SCRIPT))
    store.checkpoint()
    store.close()
    with open_pages(directory) as reader, Pages(reader) as pages, SearchIndex(directory) as index:
        index.update(pages)


def test_everything_is_escaped(tmp_path: Path) -> None:
    """Neither a page's words nor those of a search become markup; what was asked for is marked."""
    indexed(tmp_path)
    found = shown(tmp_path, "words OF")
    assert "<mark>Words</mark> &lt;b&gt;<mark>of</mark>" in found
    assert not re.search(r"<script>|<b>|<x>|[\x00-\x08\x1b\u202e]", found)
    assert found.count("&lt;script&gt;alert(1)") == 2
    assert 'value="&#34;&gt;&lt;script&gt;' in shown(tmp_path, f'">{SCRIPT}')


def test_what_is_not_found(tmp_path: Path) -> None:
    """Without an index, without words and without hits the page says so; no search makes an index."""
    assert "There is no index yet" in shown(tmp_path, "words")
    assert [*tmp_path.iterdir()] == []
    assert "notice" not in shown(tmp_path, "")
    indexed(tmp_path)
    assert "Nothing is found" in shown(tmp_path, "nowhere")
    assert "no word to look for" in shown(tmp_path, "!")


def test_a_workers_page(tmp_path: Path) -> None:
    """It searches what all workers have stored."""
    indexed(tmp_path)
    assert "<mark>Words</mark>" in shown(tmp_path / "worker-0", "words")
