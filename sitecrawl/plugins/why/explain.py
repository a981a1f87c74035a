"""The one place where an answer is put together: the command and agents both ask here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sitecrawl.plugins.why.case import Case
from sitecrawl.plugins.why.evidence import ALL
from sitecrawl.plugins.why.source import Source
from sitecrawl.plugins.why.verdict import Verdict, verdict


@dataclass(frozen=True, slots=True)
class _Explanation:
    """One clear answer, and the evidence."""

    url: str
    """As it would be fetched, or was."""
    known: bool
    """Whether the crawl knows it."""
    verdict: Verdict
    evidence: Mapping[str, str]
    """In words, of several lines, by what it is about: `canonical`, `scope`, `robots.txt`, ..."""

    def as_dict(self) -> dict[str, Any]:
        """What JSON has of it."""
        return {
            "url": self.url,
            "verdict": self.verdict.name,
            "answer": self.verdict.text,
            "known": self.known,
            "evidence": dict(self.evidence),
            "advice": self.verdict.advice,
        }

    def lines(self) -> Iterator[str]:
        """For a terminal: the answer, what speaks for it, and what would help."""
        yield from (self.verdict.text, "")
        rows = {**self.evidence, **({"what helps": self.verdict.advice} if self.verdict.advice else {})}
        width = max(map(len, rows))
        for about, text in rows.items():
            first, *rest = text.split("\n")
            yield f"  {about:<{width}}  {first}"
            yield from (f"  {'':<{width}}  {line}" for line in rest)


def why(source: Source, text: str, now: Callable[[], float] = time.time) -> _Explanation:
    """Why the URL that a person typed was fetched, waits, or is not known.

    Raises `OptionError` for what is no URL, `StorageError` for what cannot be read.
    """
    case = Case.of(source, text)
    evidence = {about: words for about, say in ALL.items() if (words := say(case))}
    url = case.record.url if case.record is not None else case.url.href
    return _Explanation(url, case.record is not None, verdict(case, now), evidence)
