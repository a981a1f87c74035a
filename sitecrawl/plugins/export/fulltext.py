"""A full-text index of a crawl's pages: what `scrapy search` asks.

    search.sqlite in the crawl's directory
        pages   a row a URL: its newest page, with title, main text, and what links to it say
        words   FTS5 over them (https://sqlite.org/fts5.html)
        links   what links to a URL say, each text once, whether the URL is a page or not
        marks   how far each store of pages has been taken in, as in `sitecrawl.plugins.export.changes`

The rank is that of Brin and Page, "The anatomy of a large-scale hypertextual Web search engine" (1998): words of the
title, of the anchors of links to the page, of its URL and of its text, each with its weight (BM25), and then the
page's importance. What links say of a page is known when all pages have been taken in, so it comes last (`_join`).

SQLite because it ships with Python, ranks (BM25) and cuts snippets: those of a long text out of the part that ranks
best, so that a page of nothing but the words costs no more than another. The tokenizer is `unicode61` without
diacritics: words of any script that has spaces, and no language's endings. Pages and mark go down in one transaction,
some at a time, so a kill costs those few. Everything in it can be made again: where the crawl was cut back, it is.
"""

from __future__ import annotations

import math
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from sitecrawl.base.batches import batches
from sitecrawl.base.display import one_line
from sitecrawl.base.errors import FormatMismatch, OptionError
from sitecrawl.console.listing import Layout
from sitecrawl.crawldir.faults import file_errors
from sitecrawl.pagestore.capture import checksum
from sitecrawl.plugins.export.changes import Mark
from sitecrawl.plugins.export.exported_page import ExportedPage
from sitecrawl.plugins.export.formats import iso_of
from sitecrawl.plugins.export.pages import Choice, Pages

FILE: Final = "search.sqlite"
_APPLICATION_ID: Final = 0x53434654
"""`SCFT`"""
_VERSION: Final = 2
_SCHEMA: Final = """
CREATE TABLE pages (
    id INTEGER PRIMARY KEY, url_key TEXT NOT NULL UNIQUE, url TEXT NOT NULL, fetched REAL NOT NULL,
    title TEXT NOT NULL, text TEXT NOT NULL, anchors TEXT NOT NULL DEFAULT ''
);
CREATE TABLE links (
    target TEXT NOT NULL, text TEXT NOT NULL, is_new INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (target, text)
) WITHOUT ROWID;
CREATE INDEX new_links ON links (target) WHERE is_new;
CREATE VIRTUAL TABLE words USING fts5 (
    title, url, text, anchors, content = 'pages', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
);
CREATE TRIGGER pages_added AFTER INSERT ON pages BEGIN
    INSERT INTO words (rowid, title, url, text, anchors)
    VALUES (new.id, new.title, new.url, new.text, new.anchors);
END;
CREATE TRIGGER pages_changed AFTER UPDATE ON pages BEGIN
    INSERT INTO words (words, rowid, title, url, text, anchors)
    VALUES ('delete', old.id, old.title, old.url, old.text, old.anchors);
    INSERT INTO words (rowid, title, url, text, anchors)
    VALUES (new.id, new.title, new.url, new.text, new.anchors);
END;
CREATE TABLE marks (store TEXT PRIMARY KEY, id INTEGER NOT NULL, checksum INTEGER NOT NULL);
"""
_STATEMENTS = re.compile(r";\n(?=CREATE|\Z)")
_CLEAR: Final = """
DELETE FROM marks;
DELETE FROM pages;
DELETE FROM links;
INSERT INTO words (words) VALUES ('delete-all');
"""
_PUT: Final = """
INSERT INTO pages (url_key, url, fetched, title, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT (url_key) DO UPDATE
SET url = excluded.url, fetched = excluded.fetched, title = excluded.title, text = excluded.text
WHERE excluded.fetched >= pages.fetched
"""
_LINK: Final = "INSERT OR IGNORE INTO links (target, text) VALUES (?, ?)"
_TARGETS: Final = "SELECT DISTINCT target FROM links WHERE is_new LIMIT ?"
_JOIN: Final = """
UPDATE pages SET anchors = (
    SELECT group_concat(text, char(10)) FROM (SELECT text FROM links WHERE target = :key LIMIT :most)
) WHERE url_key = :key
"""
_JOINED: Final = "UPDATE links SET is_new = 0 WHERE target = ? AND is_new"
_FIND: Final = """
SELECT rowid, -bm25(words, 8.0, 2.0, 1.0, 4.0) AS score FROM words WHERE words MATCH ? ORDER BY score DESC LIMIT ?
"""
"""A word of the title counts as much as eight of the text, and one of an anchor as much as four."""
_PAGE: Final = "SELECT url, title, text, fetched FROM pages WHERE id = ?"
_KEY: Final = "SELECT url_key FROM pages WHERE id = ?"
_RANKED: Final = 200
"""Pages that are best by their words and among which importance decides, at least."""
_MOST_ANCHORS: Final = 50
"""Different texts of links that are kept of a page."""
_WEIGHT: Final = 0.1
"""What importance counts: with each e times the average's, a page's score is raised by so much. Known pages are found
best with it: docs/export.md.
"""
_PARTS: Final = "CREATE VIRTUAL TABLE parts USING fts5 (title, url, text, tokenize = 'unicode61 remove_diacritics 2')"
_SNIPPET: Final = """
SELECT snippet(parts, 2, char(2), char(3), '\N{HORIZONTAL ELLIPSIS}', 24)
FROM parts WHERE parts MATCH ? ORDER BY bm25(parts, 0.0, 0.0, 1.0), rowid LIMIT 1
"""
_FOUND: Final = ("\x02", "\x03")
"""Around each word of a snippet that was asked for. No text in the index has them."""
_BUSY_SECONDS: Final = 30.0
_TOGETHER: Final = 200
"""Pages a transaction."""
_MOST_TEXT: Final = 1_000_000
"""Characters of a page that are taken in."""
_MOST_WORDS: Final = 50
_PART_SIZE: Final = 10_000
"""Characters of a text out of which a snippet is cut, with one word looked for; with more, so many times fewer. What
that takes grows with the square of what is found there: a fourth of a second at most.
"""
_STEPS: Final = 10_000
"""Instructions of SQLite between two looks at the clock: a few tenths of a millisecond."""
_MARKERS = {ord(mark): " " for mark in _FOUND}
_SPACE: Final = re.compile(r"\s+")
_PART = re.compile(r'"([^"]*)"?|([^\s"]+)')


class _Hit(NamedTuple):
    """A page that has the words."""

    url: str
    title: str
    snippet: str
    """Around the words, which stand between the marks of `_FOUND`."""
    fetched: float


def query_of(text: str) -> str:
    """What a person types, as a query of FTS5 that cannot fail: all words, in any order; those in quotation marks
    beside one another; the beginning of one where it ends in `*`. All else in it are letters to look for.

    Raises `OptionError` where there is nothing to look for.
    """
    return " ".join(_terms_of(text))


def _terms_of(text: str) -> list[str]:
    terms = []
    for phrase, word in _PART.findall(text):
        wanted = phrase or word
        if any(char.isalnum() for char in wanted):
            quoted = '"' + wanted.replace("\0", " ").replace('"', " ").encode("utf-8", "replace").decode() + '"'
            terms.append(quoted + ("*" if word.endswith("*") else ""))
    if not terms:
        raise OptionError("there is no word to look for")
    if len(terms) > _MOST_WORDS:
        raise OptionError(f"{len(terms)} words are too many: {_MOST_WORDS} is the limit")
    return terms


class SearchIndex:
    """That of the crawl in `directory`; made if it is missing. Raises `StorageError`."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        with file_errors(self.path):
            self._db = _opened(self.path)

    def update(self, pages: Pages, go_on: Callable[[], bool] = lambda: True) -> int:
        """Take in what was stored since the last time, as long as it is to `go_on`; gives the number of pages. Raises
        `StorageError`.
        """
        count = 0
        marks = self._marks()
        stores = pages.stores
        if not all(marks.get(name, Mark()).holds_in(reader) for name, reader in stores):
            with file_errors(self.path):
                self._db.executescript(f"BEGIN IMMEDIATE; {_CLEAR} COMMIT;")
            marks = {}
        for name, reader in stores:
            nothing = {other: (0, 0) for other, _ in stores}
            span = marks.get(name, Mark()).id, reader.last_id
            for some in batches(pages.chosen(Choice(spans={**nothing, name: span})), _TOGETHER):
                if not go_on():
                    return count
                count += self._take(name, some)
        while go_on() and self._join():
            pass
        return count

    def _join(self) -> bool:
        """Let some pages have what new links say of them; whether there are more."""
        with file_errors(self.path):
            targets = self._db.execute(_TARGETS, (_TOGETHER,)).fetchall()
            with self._transaction():
                self._db.executemany(_JOIN, [{"key": key, "most": _MOST_ANCHORS} for (key,) in targets])
                self._db.executemany(_JOINED, targets)
        return len(targets) == _TOGETHER

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def _marks(self) -> dict[str, Mark]:
        with file_errors(self.path):
            return {name: Mark(*mark) for name, *mark in self._db.execute("SELECT store, id, checksum FROM marks")}

    def _take(self, store: str, some: Sequence[ExportedPage]) -> int:
        rows = [_row(page) for page in some]
        links = [link for page in some for link in page.anchors]
        last = some[-1].capture
        with file_errors(self.path), self._transaction():
            self._db.executemany(_PUT, rows)
            self._db.executemany(_LINK, links)
            self._db.executemany("UPDATE links SET is_new = 1 WHERE target = ?", [row[:1] for row in rows])
            self._db.execute("INSERT OR REPLACE INTO marks VALUES (?, ?, ?)", (store, last.id, checksum(last)))
        return len(rows)

    def find(
        self,
        text: str,
        limit: int,
        *,
        seconds: float = math.inf,
        importance: Callable[[str], float | None] = lambda key: None,
    ) -> list[_Hit]:
        """The best pages first. `importance` gives that of a page by its key, from 0 to 1, if it is known.

        Raises `OptionError` for a `text` without words, `StorageError` also where it takes longer than so many
        `seconds`.
        """
        terms, until = _terms_of(text), time.monotonic() + seconds
        self._db.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
        hits = []
        with file_errors(self.path):
            found_all = self._db.execute(_FIND, (" ".join(terms), max(limit, _RANKED))).fetchall()
            for found in self._ranked(found_all, importance)[:limit]:
                for url, title, body, fetched in self._db.execute(_PAGE, found):
                    hits.append(_Hit(url, title, _snippet(terms, title, url, body), fetched))
                    if time.monotonic() > until:
                        raise sqlite3.OperationalError("interrupted")
        return hits

    def _ranked(
        self, found: Sequence[tuple[int, float]], importance: Callable[[str], float | None]
    ) -> list[tuple[int]]:
        """The rows, those first that are best by words and importance."""
        (pages,) = self._db.execute("SELECT count(*) FROM pages").fetchone()
        scores = {}
        for row, score in found:
            (key,) = self._db.execute(_KEY, (row,)).fetchone()
            scores[row] = score * (1 + _WEIGHT * math.log1p((importance(key) or 0.0) * pages))
        return [(row,) for row in sorted(scores, key=scores.__getitem__, reverse=True)]

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _row(page: ExportedPage) -> tuple[str, str, float, str, str]:
    capture = page.capture
    text, title = (page.text or "")[:_MOST_TEXT], page.title or ""
    return capture.url_key, capture.url, capture.fetched, title.translate(_MARKERS), text.translate(_MARKERS)


def _snippet(terms: Sequence[str], title: str, url: str, text: str) -> str:
    size = _PART_SIZE // len(terms)
    step = size - size // 10  # so that a phrase is whole in one part
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute(_PARTS)
        parts = ((title, url, text[at : at + size]) for at in range(0, max(1, len(text) - size // 10), step))
        db.executemany("INSERT INTO parts VALUES (?, ?, ?)", parts)
        found: tuple[str] | None = db.execute(_SNIPPET, (" OR ".join(terms),)).fetchone()
    return found[0] if found is not None else ""


def _opened(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_SECONDS)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        if _is_empty(db):
            _make(db)
        _check_format(db, path)
    except BaseException:
        db.close()
        raise
    return db


def _check_format(db: sqlite3.Connection, path: Path) -> None:
    found = tuple(db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if found != (_APPLICATION_ID, _VERSION):
        raise FormatMismatch(f"{path} is no index of this version: delete it, and the next search makes it again")


def _make(db: sqlite3.Connection) -> None:
    """In a file that is empty, unless another process is faster."""
    with db:  # which rolls back what fails
        db.execute("BEGIN IMMEDIATE")
        if _is_empty(db):
            for statement in filter(str.strip, _STATEMENTS.split(_SCHEMA)):
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {_VERSION}")
        db.execute("COMMIT")


def _is_empty(db: sqlite3.Connection) -> bool:
    return not db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]


def _facts(hit: _Hit) -> Mapping[str, Any]:
    """What was asked for stands in brackets."""
    snippet = hit.snippet
    for mark, bracket in zip(_FOUND, "[]", strict=True):
        snippet = snippet.replace(mark, bracket)
    return {
        **hit._asdict(),
        "snippet": _SPACE.sub(" ", snippet),
        "fetched": iso_of(hit.fetched),
    }


def _shown(hit: _Hit) -> str:
    title = one_line(_SPACE.sub(" ", hit.title or "(no title)"))
    return f"{title}\n    {one_line(hit.url)}\n    {one_line(_facts(hit)['snippet'])}"


HITS: Final = Layout("", _shown, _Hit._fields, _facts)
"""Rows of hits."""
