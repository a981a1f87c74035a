"""Documents, read in a process that may do nothing else, which is started for the first of them.

A document that breaks its reader costs its own text, and is counted. Nothing of an answer is believed that a document
cannot say.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any, Final

from sitecrawl.base.errors import NoParser
from sitecrawl.page.media_type import DocumentKind
from sitecrawl.page.process_pool import PoolOptions, Quarantined, WorkerPool
from sitecrawl.page.process_serving import BadAnswer
from sitecrawl.plugins.export.documents.document import MAX_FACT, NOT_INSTALLED, Document, DocumentLimits

LIMITS: Final = DocumentLimits()
_RATIONS: Final = PoolOptions(processes=1, seconds=30.0, memory=1 << 30)
"""Seconds for a document, and bytes: PDFium takes 20 MB for most, and more for what is made to burst it."""
_UTF8_BYTES: Final = 4
"""Of a character, at most."""
_REASONS: Final = frozenset({"damaged", "encrypted", "entities", "bomb", NOT_INSTALLED})


class IsolatedDocuments:
    """Reads the texts of documents for exports, in separate processes."""

    def __init__(
        self,
        limits: DocumentLimits = LIMITS,
        rations: PoolOptions = _RATIONS,
        *,
        module: str = "sitecrawl.plugins.export.documents.worker",
    ) -> None:
        self._limits = limits
        self._rations = rations
        self._module = module
        self._pool: _Pool | None = None
        self._has_failed = False
        self.unread: Counter[str] = Counter()
        """Documents without a text, by what was in the way."""

    def read(self, kind: DocumentKind, body: bytes) -> Document | None:
        """None for one that cannot be read."""
        try:
            if self._pool is None and not self._has_failed:
                self._pool = _Pool(self._module, self._limits, self._rations)
            if self._pool is not None:
                return self._pool.read(kind, body)
            self.unread["no process"] += 1
        except Quarantined as error:
            self.unread[error.reason] += 1
        except NoParser:
            self._has_failed = True
            self.unread["no process"] += 1
        return None

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()


class _Pool(WorkerPool):
    def __init__(self, module: str, limits: DocumentLimits, rations: PoolOptions) -> None:
        super().__init__(module, {"limits": asdict(limits)}, rations, "look for what keeps Python from starting")
        self._characters = limits.characters

    def read(self, kind: DocumentKind, body: bytes) -> Document:
        """Raises `Quarantined`, also for what its reader says that it cannot read, and `NoParser`."""
        document = self._asked({"kind": kind}, body, self._document, self._characters * _UTF8_BYTES)
        if isinstance(document, str):
            raise Quarantined(document)
        return document

    def _document(self, answer: dict[str, Any], text: bytes) -> Document | str:
        reason = answer.get("unreadable")
        if reason is not None:
            if reason not in _REASONS:
                raise BadAnswer("no reason")
            return str(reason)
        try:
            found = text.decode()
        except UnicodeDecodeError as error:
            raise BadAnswer("no text") from error
        pages, is_cut = answer.get("pages"), answer.get("is_cut")
        if not isinstance(is_cut, bool) or not (pages is None or (type(pages) is int and 0 <= pages < 1 << 31)):
            raise BadAnswer("no count of pages")
        return Document(found, _fact(answer.get("title")), _fact(answer.get("language")), pages, is_cut)


def _fact(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or len(value) > MAX_FACT):
        raise BadAnswer("no title or language")
    return value
