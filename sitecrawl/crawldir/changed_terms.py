"""Describe in words how a crawl's settings differ from its last run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sitecrawl.crawldir.terms import Terms

MOST_TOLD: Final = 20
_LONGEST: Final = 100
"""Characters of a value."""
_OWN: Final = ("scope", "allow", "deny", "max_pages", "max_depth", "order", "agent", "robots", "ftp")
"""Fields of `Terms` that somebody has chosen."""


def changes(before: Terms, now: Terms) -> tuple[str, ...]:
    """Up to 20 of them, and how many there are besides."""
    found = [*_of_values(_values(before), _values(now)), *_of_sheets(before.sheets, now.sheets)]
    more = len(found) - MOST_TOLD
    return (*found[:MOST_TOLD], f"and {more:,} more") if more > 0 else tuple(found)


def _values(terms: Terms) -> dict[str, Any]:
    return {**{name: getattr(terms, name) for name in _OWN}, **terms.others}


def _of_values(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys((*before, *now)):
        old, new = before.get(name), now.get(name)
        if isinstance(old, list | tuple) or isinstance(new, list | tuple):
            yield from _of_lists(name, old or (), new or ())
        elif old != new:
            yield _of_one(name, old, new)


def _of_one(name: str, old: Any, new: Any) -> str:
    if isinstance(old, dict) and isinstance(new, dict):
        return f"{name} has another value"
    if new is None:
        return f"{name} is gone" if isinstance(old, dict) else f"{name} is gone, was {_shown(old)}"
    if isinstance(new, dict):
        return f"{name} is new"
    return f"{name} {_shown(new)}, was {'not set' if old is None else _shown(old)}"


def _of_lists(name: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) or isinstance(new, dict):
        yield f"{name} are others"
        return
    added, gone = [one for one in new if one not in old], [one for one in old if one not in new]
    if added:
        yield f"{name} has {', '.join(map(_shown, added))} besides"
    if gone:
        yield f"{name} lacks {', '.join(map(_shown, gone))}"


def _of_sheets(before: tuple[Mapping[str, Any], ...], now: tuple[Mapping[str, Any], ...]) -> Iterator[str]:
    """Compare sheets; sheets for the same hosts count as one sheet."""
    old, new = _by_hosts(before), _by_hosts(now)
    for hosts in dict.fromkeys((*new, *old)):
        if hosts not in old:
            yield f"sheet for {hosts} is new"
        elif hosts not in new:
            yield f"sheet for {hosts} is gone"
        else:
            yield from (f"sheet for {hosts}: {change}" for change in _of_values(old[hosts], new[hosts]))
    if [one for one in old if one in new] != [one for one in new if one in old]:
        yield "sheets stand in another order"


def _by_hosts(sheets: tuple[Mapping[str, Any], ...]) -> dict[str, Mapping[str, Any]]:
    """Numbered where several are for the same."""
    found: dict[str, Mapping[str, Any]] = {}
    for sheet in sheets:
        name = _shown(", ".join(sheet.get("hosts", ())))
        number = sum(1 for one in found if one == name or one.startswith(f"{name} ("))
        found[f"{name} ({number + 1})" if number else name] = sheet
    return found


def _shown(value: object) -> str:
    text = ("yes" if value else "no") if isinstance(value, bool) else str(value) or "nothing"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
