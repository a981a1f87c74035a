"""A crawl as a folder of Markdown files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from console import command
from crawling import crawl
from hypothesis import given
from hypothesis import strategies as st
from localweb import Answer, LocalWeb, Page

from sitecrawl.plugins.export.folder import _Names
from sitecrawl.plugins.export.passing import Once

HOST = "http://site.example"
NAV = "<nav><ul><li><a href=/>Home</a><li><a href=/imprint>Imprint</a></ul></nav>"
TEXT = "".join(f"<p>Sentence {number} of a page, which says what it is about.</p>" for number in range(8))


@pytest.fixture
def names() -> Iterator[_Names]:
    with Once() as known:
        yield _Names(known)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        (f"{HOST}/", "site.example/index.md"),
        (f"{HOST}:8080/a/b", "site.example_8080/a/b.md"),
        (f"{HOST}/a/b/", "site.example/a/b/index.md"),
        (f"{HOST}/a.html?id=3&x=y", "site.example/a.html@id=3&x=y.md"),
        (f"{HOST}/caf%C3%A9/%E6%97%A5", "site.example/café/日.md"),
        ("ftp://site.example/a", "ftp_site.example/a.md"),
    ],
)
def test_names_mirror_addresses(names: _Names, url: str, path: str) -> None:
    """Hosts and folders are folders, and what is readable stays."""
    assert names.of(url) == path


ODD = (
    "/..%2f..%2fetc", "/a%00b", "/.bashrc", "/con.txt", "/a/b.md/c", "/a:b", "/" + "x" * 300, "/a/" * 20, "/%ff",
    "/~", "/-rf", "/a.",
)  # fmt: skip


@pytest.mark.parametrize("path", ODD)
def test_names_that_mean_something(names: _Names, path: str) -> None:
    """No part of a path is one to a file system or a shell; what was changed has a digest of the URL."""
    first, other = names.of(HOST + path), names.of(HOST + path + "#other")
    assert first != other
    for part in first.split("/"):
        assert part[0] not in ".~-"
        assert len(part.encode()) < 220
    assert first.endswith(".md")
    assert not any(part.endswith(".md") for part in first.split("/")[:-1])


def test_names_that_are_taken(names: _Names) -> None:
    """Two addresses have two files, also where case does not count."""
    found = [names.of(f"{HOST}{path}") for path in ("/a", "/A", "/a/", "/a/index", "/%61")]
    found.append(names.of(f"{HOST}/a", "SHA1"))
    assert len({name.casefold() for name in found}) == len(found)


@given(st.text(max_size=40))
def test_no_name_leads_elsewhere(path: str) -> None:
    """Whatever an address says, its file is below the folder."""
    with Once() as known:
        name = _Names(known).of(f"{HOST}/{path}")
    assert (Path("/x") / name).resolve().is_relative_to("/x/")
    assert name.isprintable()


PAGES: dict[str, Page] = {
    "/": f'<html lang=en><title>Home: "a"\n---\nx: &amp; y</title>{NAV}<main><h1>Welcome</h1>{TEXT}'
    "<a href=/docs/a>on</a></main>",
    "/imprint": f"<title>Imprint</title>{NAV}<main><h1>Imprint</h1>{TEXT}<pre>---\nurl: evil</pre></main>",
    "/docs/a": f"<title>\u2028T\u2029</title><a href=/pic.png>p</a><a href=/note.txt>n</a>{TEXT}",
    "/note.txt": Answer(b"plain *text*\r\nof two lines", headers={"Content-Type": "text/plain"}),
    "/pic.png": Answer(b"\x89PNG\r\n\x1a\n", headers={"Content-Type": "image/png"}),
}  # fmt: skip


def test_a_crawl_as_a_folder(tmp_path: Path) -> None:
    """Each page with text is a file with its facts before its Markdown; what is new comes into the same folder."""
    with LocalWeb(PAGES) as web:
        assert crawl(web.root, tmp_path / "job").returncode == 0
    done = command("export", "-d", "job", "--format", "markdown", "-o", "md", "--since", "last", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "4 pages (1 page without text left out) are in md\n")
    (host,) = (tmp_path / "md").iterdir()
    found = {path.relative_to(host).as_posix(): path.read_text() for path in host.rglob("*") if path.is_file()}
    assert set(found) == {"index.md", "imprint.md", "docs/a.md", "note.txt.md"}
    facts = {}
    for name, text in found.items():
        before, front, _ = text.split("---\n", 2)
        assert before == ""
        facts[name] = yaml.safe_load(front)
    assert facts["index.md"] | {"date": ""} == {
        "url": f"{web.root}/", "title": 'Home: "a" --- x: & y', "date": "", "language": "en"
    }  # fmt: skip
    assert facts["docs/a.md"]["title"] == "T"
    assert "\n# Welcome\n\nSentence 0 of a page" in found["index.md"]
    assert f"[on]({web.root}/docs/a)" in found["index.md"]
    assert "Imprint" not in found["index.md"]
    assert found["note.txt.md"].endswith("---\n\nplain *text*\nof two lines\n")
    again = command("export", "-d", "job", "--format", "markdown", "-o", "md", "--since", "last", cwd=tmp_path)
    assert "nothing new" in again.stderr


@pytest.mark.parametrize(
    "words", [[], ["-o", "s3://bucket/md"], ["-o", "file"], ["-o", "md", "--fields", "url"], ["-o", "md", "--all"]]
)
def test_what_makes_no_sense(tmp_path: Path, words: list[str]) -> None:
    """A folder goes into a folder, and has no columns."""
    (tmp_path / "file").write_text("")
    done = command("export", "--format", "markdown", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert "--format markdown" in done.stdout + done.stderr
