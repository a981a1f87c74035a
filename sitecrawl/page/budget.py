"""How much of a page is read: so many bytes of it, and so many elements, whoever reads it.

Whatever a page says, a reader of it takes a step for each tag, comment, character reference and line end, and some
nanoseconds for each byte. Each of the former has a `<`, a `&`, a line feed or a carriage return of its own, so their
number is an upper bound for the steps, whichever parser takes them. It is counted before one is begun, and what is
beyond the budget is cut off there: no reader can forget to look, and none has to look at a clock.

A `<` in a script counts as well, and so does each half of a Windows line end. No charset of the web has other bytes
for these characters; one that has these bytes in other characters makes the bound lower than need be.

Readers differ in what an element takes: 0 to 2 us where links are looked for, up to four times that where lines of
text are made. So links are looked for in four times as many, and neither takes longer than the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from sitecrawl.base.limits import READ_ELEMENTS, READ_SIZE, AnyLimit
from sitecrawl.page.items import PageItem

_MARKS: Final = (b"<", b"&", b"\n", b"\r")
_LINKS_TAKE: Final = 4
"""Factor: elements read for links in the time of one read for text."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Most of a page that is read."""

    max_size: int = READ_SIZE.value
    """Bytes."""
    max_elements: int = READ_ELEMENTS.value
    """Tags, comments, character references and line ends."""

    @property
    def of_links(self) -> Budget:
        """Budget of a reader that looks for links only."""
        return replace(self, max_elements=_LINKS_TAKE * self.max_elements)


DEFAULT: Final = Budget()


def within(body: bytes, budget: Budget = DEFAULT) -> bytes:
    """The part of `body` that is read; `body` itself if that is all."""
    if len(body) <= min(budget.max_size, budget.max_elements):  # an element takes a byte
        return body
    head = body[: budget.max_size]
    return head if _elements_in(head) <= budget.max_elements else head[: _end(head, budget.max_elements)]


def text_within(page: PageItem, budget: Budget = DEFAULT) -> str:
    """The text of the part of `page` that is read."""
    return within(page.body, budget).decode(page.charset or "utf-8", "replace")


def exceeded(body: bytes, budget: Budget = DEFAULT) -> AnyLimit | None:
    """The limit at which reading `body` ends; None if all of it is read."""
    read = len(within(body, budget))
    if read == len(body):
        return None
    return READ_SIZE if read == budget.max_size else READ_ELEMENTS


def _elements_in(body: bytes, start: int = 0, end: int | None = None) -> int:
    """Upper bound of the number of elements."""
    return sum(body.count(mark, start, end) for mark in _MARKS)


def _end(body: bytes, most: int) -> int:
    """Position of the first element beyond `most`, by bisection, so each byte is looked at twice."""
    start, end = 0, len(body)
    while end - start > 1:
        middle = (start + end) // 2
        found = _elements_in(body, start, middle)
        if found <= most:
            start, most = middle, most - found
        else:
            end = middle
    return start
