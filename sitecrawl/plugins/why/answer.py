"""What is said of a URL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing that speaks for the answer."""

    about: str
    """A word or two: `canonical`, `scope`, `robots.txt`, ..."""
    text: str
    """In words; of several lines."""
    facts: dict[str, Any] = field(default_factory=dict)
    """The same for a program: what JSON has."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One clear answer, and the evidence."""

    url: str
    """As it would be fetched, or was."""
    verdict: str
    """One word for a program: see docs/why.md."""
    text: str
    """The answer, in one line."""
    evidence: list[Evidence]
    advice: str = ""
    """What would make it be fetched; empty where it was."""

    @property
    def known(self) -> bool:
        """Whether the crawl knows the URL."""
        return any(one.about == "known" and one.facts.get("known") for one in self.evidence)

    def as_dict(self) -> dict[str, Any]:
        """What JSON has of it."""
        return {
            "url": self.url,
            "verdict": self.verdict,
            "answer": self.text,
            "known": self.known,
            "evidence": [{"about": one.about, "text": one.text, **one.facts} for one in self.evidence],
            "advice": self.advice,
        }

    def lines(self) -> Iterator[str]:
        """For a terminal: the answer, what speaks for it, and what would help."""
        yield self.text
        rows = [(one.about, one.text) for one in self.evidence]
        if self.advice:
            rows.append(("what helps", self.advice))
        width = max(len(about) for about, _ in rows) if rows else 0
        yield ""
        for about, text in rows:
            first, *rest = text.split("\n")
            yield f"  {about:<{width}}  {first}"
            yield from (f"  {'':<{width}}  {line}" for line in rest)


def moment(seconds: float) -> str:
    """A Unix time, for people."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
