"""The stored page that the dashboard shows."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from pagestore_helpers import exchange, page

from sitecrawl.pagestore import PageReader
from sitecrawl.pagestore.record import RENDERED, SCREENSHOT, urn
from sitecrawl.pagestore.warc_store import WarcStore
from sitecrawl.plugins.dashboard.preview import Preview, preview

ROOT = "http://site.example/"


def shown(folder: Path, **made: str) -> Preview:
    """The preview of a page of which a browser made this."""
    with closing(WarcStore(folder)) as store:
        for kind, content_type in made.items():
            headers = [(b"Content-Type", content_type.encode())]
            store.put(exchange(urn(kind, ROOT), kind.encode(), headers=headers))
        found = exchange(ROOT, b"<div id=root></div>")
        store.put(found, page(found))
        store.checkpoint()
    return preview(lambda: closing(PageReader(folder)), ROOT)


def test_what_a_browser_made_of_a_page(tmp_path: Path) -> None:
    """The picture, or else the DOM, is what can be looked at: what came may be empty without scripts."""
    dom, picture = {RENDERED: "text/html; charset=utf-8"}, {SCREENSHOT: "image/webp"}
    assert shown(tmp_path / "a") == (b"<div id=root></div>", "text/html; charset=utf-8")
    assert shown(tmp_path / "b", **dom) == (b"rendered", "text/html; charset=utf-8")
    assert shown(tmp_path / "c", **dom, **picture) == (b"view", "image/webp")
