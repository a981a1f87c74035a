"""What a file of rules says, checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sitecrawl.plugins.export.sources import PageText, Source
from sitecrawl.plugins.extract.values import Conversion


@dataclass(frozen=True, slots=True)
class Field:
    """One property of an item."""

    name: str
    line: int
    sources: Sequence[Source]
    """The first that finds something counts."""
    conversion: Conversion = field(default_factory=Conversion)
    required: bool = False
    """Without a value there is no item."""
    many: bool = False
    """All that is found, as a list, and not the first alone."""
    default: Any = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of item."""

    name: str
    line: int
    fields: Sequence[Field]
    url: Any = None
    """Searched for in the page's URL: the rule is for other pages where it is not; None is for all."""
    each: Source | None = None
    """An item for everything that it finds; None for one item a page."""
    next: Sequence[Source] = ()
    """Leads to the next page of a list."""

    def applies_to(self, page: PageText) -> bool:
        return self.url is None or page.is_at(self.url)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """A file of rules."""

    path: Path
    rules: Sequence[Rule]
    follows_all: bool = True
    """Whether the links of a page are followed, within the crawl's scope."""
    follow: Sequence[Source] = ()
    """What is followed besides, or instead."""

    def columns(self) -> list[str]:
        """The names of all fields, in their order, behind what every item has."""
        names = ["rule", "url", *(field.name for rule in self.rules for field in rule.fields)]
        return list(dict.fromkeys(names))
