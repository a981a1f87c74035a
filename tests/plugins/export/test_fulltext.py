"""Full-text search."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from console import command
from hypothesis import given
from hypothesis import strategies as st
from pagestore_helpers import STARTED, exchange, page

from sitecrawl.base.errors import FormatMismatch, OptionError
from sitecrawl.pagestore import WarcStore
from sitecrawl.pagestore.workers import open_pages
from sitecrawl.plugins.export.fulltext import _PART_SIZE, FILE, SearchIndex, _terms_of, query_of
from sitecrawl.plugins.export.pages import Pages

HTML = [(b"Content-Type", b"text/html; charset=utf-8")]


def store(directory: Path, pages: dict[str, tuple[str, str]], after: float = 0) -> None:
    """Adds pages to a crawl: path → title and text."""
    crawl = WarcStore(directory)
    for path, (title, text) in pages.items():
        one = exchange(f"http://a.example/{path}", f"<p>{text}".encode(), headers=HTML, started=STARTED + after)
        crawl.put(one, page(one, title=title))
    crawl.checkpoint()
    crawl.close()


def found(directory: Path, words: str) -> list[str]:
    """The paths of the pages, after what is new was taken in."""
    with open_pages(directory) as reader, SearchIndex(directory) as index:
        with Pages(reader) as pages:
            index.update(pages)
        return [hit.url.removeprefix("http://a.example/") for hit in index.find(words, 10)]


def taken_in(directory: Path) -> int:
    with open_pages(directory) as reader, SearchIndex(directory) as index, Pages(reader) as pages:
        return index.update(pages)


def test_what_is_found(tmp_path: Path) -> None:
    """All words, in any case and with any accents; titles first; phrases, and beginnings."""
    store(tmp_path, {
        "a": ("Other", "The café of the Straße has a bot trap, and more text that nobody asked for"),
        "b": ("A cafe", "Nothing else"), "c": ("Trap", "a trap for a bot"), "d": ("Кафе", "Трапеза в Москве"),
    })  # fmt: skip
    searches = {
        "CAFE": ["b", "a"], "bot trap": ["c", "a"], '"bot trap"': ["a"], "stra*": ["a"], "stra": [], "москве": ["d"],
        "café else": ["b"], '"trap a': [], "OR": [], "title: cafe": [], "nowhere": [],
    }  # fmt: skip
    assert {words: found(tmp_path, words) for words in searches} == searches


def snippets(directory: Path, words: str) -> list[str]:
    with SearchIndex(directory) as index:
        return [hit.snippet.replace("\x02", "[").replace("\x03", "]") for hit in index.find(words, 10)]


def test_a_snippet_out_of_a_long_text(tmp_path: Path) -> None:
    """It is where most of the words are; it is the beginning where the title alone has them, or nothing has any."""
    rest = "nothing of it " * 2_000
    texts = {"a": ("Some page", f"{rest} first here {rest} here is the last {rest}"), "b": ("Rare", "Short")}
    store(tmp_path, texts)
    assert found(tmp_path, "last here") == ["a"]
    (both,) = snippets(tmp_path, "last here")
    assert "[here] is the [last] nothing" in both
    assert both.startswith("…")
    assert both.endswith("…")
    (phrase,) = snippets(tmp_path, '"first here"')
    assert "[first here] nothing" in phrase
    (title,) = snippets(tmp_path, "page")
    assert title.startswith("nothing of it nothing")
    assert snippets(tmp_path, "rare") == ["Short"]


@pytest.mark.parametrize("words", ["a", "a b", "a* a", " ".join(f'"{"a b " * n}"' for n in range(1, 11))])
def test_what_a_snippet_may_cost(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a page has the words: the text that SQLite looks for them in, times the words, is bounded."""
    sizes: list[int] = []

    class Connection(sqlite3.Connection):
        def executemany(self, sql: str, rows: Iterable[Any], /) -> sqlite3.Cursor:
            kept = list(rows)
            sizes.extend(len(text) for _, _, text in kept)
            return super().executemany(sql, kept)

    store(tmp_path, {"a": ("", "a b " * 50_000)})
    assert found(tmp_path, words) == ["a"]
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **options: connect(path, factory=Connection, **options))
    (snippet,) = snippets(tmp_path, words)
    assert snippet.count("[")
    assert sum(sizes) >= 200_000 - 1
    assert max(sizes) * len(_terms_of(words)) <= _PART_SIZE


def test_what_is_new(tmp_path: Path) -> None:
    """A search takes in what was stored since the last one; of a URL its newest page is found, and no other."""
    store(tmp_path, {str(number): ("", f"first number{number}") for number in range(450)})
    assert taken_in(tmp_path) == 450
    assert taken_in(tmp_path) == 0
    store(tmp_path, {"7": ("", "second"), "new": ("", "second")}, after=60)
    assert taken_in(tmp_path) == 2
    assert (found(tmp_path, "number7"), sorted(found(tmp_path, "second"))) == ([], ["7", "new"])
    assert found(tmp_path, "number8") == ["8"]


def test_a_store_that_is_another(tmp_path: Path) -> None:
    """Where the crawl was cut back, or made again, so is the index."""
    store(tmp_path, {"a": ("", "old words"), "b": ("", "old words")})
    assert sorted(found(tmp_path, "old")) == ["a", "b"]
    for path in tmp_path.rglob("*"):
        if path.is_file() and not path.name.startswith(FILE):
            path.unlink()
    store(tmp_path, {"b": ("", "new words"), "c": ("", "other words"), "d": ("", "words")})
    assert (found(tmp_path, "old"), sorted(found(tmp_path, "words"))) == ([], ["b", "c", "d"])


def test_workers(tmp_path: Path) -> None:
    """The pages of all workers are in one index, each once."""
    store(tmp_path / "worker-0", {"a": ("", "words of 0"), "b": ("", "words")})
    store(tmp_path / "worker-1", {"a": ("", "words of 1"), "c": ("", "words")}, after=60)
    assert sorted(found(tmp_path, "words")) == ["a", "b", "c"]
    assert found(tmp_path, '"of 0"') == []


def test_what_links_say(tmp_path: Path) -> None:
    """A page is found by the texts of links to it, whichever was fetched first, and sooner than by its own text; by
    its links to itself it is not.
    """
    store(tmp_path, {
        "early": ("", "nothing"), "hub": ("", '<a href="/early">First choice</a><a href="/late">Second choice</a>'),
        "text": ("", "a first choice, and a second choice"),
        "self": ("", '<a href="/self"><img alt="own choice"></a>'),
    })  # fmt: skip
    assert found(tmp_path, "first choice")[0] == "early"
    store(tmp_path, {"late": ("", "nothing")}, after=60)
    assert found(tmp_path, "second choice")[0] == "late"
    assert found(tmp_path, "own choice") in ([], ["self"])


def test_importance(tmp_path: Path) -> None:
    """Of pages that say the same, the more important one comes first."""
    store(tmp_path, dict.fromkeys("abcd", ("", "the same words")))
    assert sorted(found(tmp_path, "words")) == ["a", "b", "c", "d"]
    with SearchIndex(tmp_path) as index:
        hits = index.find("words", 2, importance=lambda key: {"c": 0.5, "b": 0.3}.get(key[-1], 0.1))
    assert [hit.url[-1] for hit in hits] == ["c", "b"]


@given(st.text(st.characters(exclude_categories=[]), max_size=40))
def test_no_text_is_bad_syntax(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Whatever is typed is searched for, or has no word in it."""
    directory = tmp_path_factory.getbasetemp() / "empty"
    directory.mkdir(exist_ok=True)
    with SearchIndex(directory) as index:
        try:
            assert index.find(text, 10) == []
        except OptionError:
            assert not any(char.isalnum() for char in text)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("a OR b", '"a" "OR" "b"'), ('say "two words" ', '"say" "two words"'), ("a* -b (c", '"a*"* "-b" "(c"'),
        ('"', None), ("", None), ("* - !", None), ("a " * 51, None), ('x"y z', '"x" "y z"'), ("a\0b", '"a b"'),
    ],
)  # fmt: skip
def test_queries(text: str, query: str | None) -> None:
    """Operators of FTS5 are letters here; nothing to look for, or far too much, is an error."""
    if query is None:
        with pytest.raises(OptionError):
            query_of(text)
    else:
        assert query_of(text) == query


def test_another_version(tmp_path: Path) -> None:
    """An index of another version is refused, and what to do is said."""
    with SearchIndex(tmp_path) as index:
        index._db.execute("PRAGMA user_version = 99")
    with pytest.raises(FormatMismatch, match="delete it"):
        SearchIndex(tmp_path)


def test_the_command(tmp_path: Path) -> None:
    """A hit is three lines, without what a terminal obeys; programs get JSON or CSV."""
    store(
        tmp_path / "crawls" / "mine", {"a": ("=Evil \x1b[2J\n\x02title", "Some &lt;b&gt;words\x02 of \x1b[2Ja page")}
    )
    done = command("search", "WORDS", cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "=Evil \\x1b[2J title", "    http://a.example/a", "    Some <b>[words] of \\x1b[2Ja page",
    ]  # fmt: skip
    (line,) = command("search", "words", "--format", "jsonl", cwd=tmp_path).stdout.splitlines()
    assert json.loads(line)["snippet"] == "Some <b>[words] of \x1b[2Ja page"
    _, row = csv.reader(command("search", "words", "--format", "csv", cwd=tmp_path).stdout.splitlines())
    assert row[1].startswith("'=Evil")
    assert datetime.fromisoformat(row[3]).timestamp() == STARTED
    store(tmp_path / "crawls" / "mine", {"b": ("", "more words")})
    urls = [
        command("search", "words", "--format", "urls", *more, cwd=tmp_path).stdout for more in (["--no-update"], [])
    ]
    assert [text.count("\n") for text in urls] == [1, 2]
    assert command("search", "!", cwd=tmp_path).returncode == 2
    nothing = command("search", "words", "nowhere", cwd=tmp_path)
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr.startswith("scrapy: no page has all of these words: the store holds ")
