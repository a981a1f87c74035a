"""Pages as files of one folder: names that are safe, apart and short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitecrawl.base.errors import OptionError, StorageError
from sitecrawl.plugins.keyword.spider import _file_name, _PageFolder

HTML = "text/html"


@given(st.text(), st.text(max_size=30))
def test_names_are_safe(path: str, content_type: str) -> None:
    """Whatever is in the URL and the type: no separator, no leading dot, not long, ASCII."""
    name = _file_name(f"http://a.example/{path}", content_type)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,142}", name)


def test_names_are_apart() -> None:
    """URLs that look alike have names that differ, also where case does not count."""
    root = "http://a.example/"
    urls = [root + end for end in ("a", "A", "a/", "a?", "a_", "a%2F", "x" * 5000, "x" * 5001, "../../a", "b/../a")]
    assert len({_file_name(url, HTML).lower() for url in urls}) == len(urls)
    assert _file_name(root + "docs/x.html?q=1", HTML).startswith("a.example_docs_x.html_q_1-")


def test_a_page_is_kept(tmp_path: Path) -> None:
    """Byte by byte, in a folder that is made; again replaces it, and nothing else is left there."""
    folder = _PageFolder(tmp_path / "new" / "folder")
    path = folder.save("http://a.example/", HTML, b"one\0\xff")
    assert folder.save("http://a.example/", HTML, b"two") == path
    assert [file.read_bytes() for file in folder.path.iterdir()] == [b"two"]


def test_a_link_in_the_folder_is_not_followed(tmp_path: Path) -> None:
    """A symbolic link under the page's name is replaced, and what it leads to stays."""
    folder, victim = _PageFolder(tmp_path / "folder"), tmp_path / "victim"
    victim.write_text("precious")
    (folder.path / _file_name("http://a.example/", HTML)).symlink_to(victim)
    folder.save("http://a.example/", HTML, b"page")
    assert victim.read_text() == "precious"


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    """A file in its place is an error before the crawl, a folder that goes away one that names the file."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="cannot be made"):
        _PageFolder(tmp_path / "file")
    folder = _PageFolder(tmp_path / "gone")
    folder.path.rmdir()
    with pytest.raises(StorageError, match=r"gone/a\.example.* cannot be written: No such file"):
        folder.save("http://a.example/", HTML, b"")
