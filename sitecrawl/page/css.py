"""The addresses in a style sheet: what `url()`, `image-set()` and `@import` name.

Of CSS's tokens (CSS Syntax 3, section 4.3) only those matter that hold an address, or could hide one: comments,
strings, `url()`. So no tree is made: tinycss2 takes 1.6 s and 40 MB for a megabyte of rules, this 0.25 s and no
memory. What is left out for it: names that are written with escapes (`\\75rl(x)`), which nobody writes.

Invariant: every character is looked at a bounded number of times. The quantifiers are possessive, and whatever is
unterminated extends to the end of the sheet, as the standard has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from sitecrawl.base.expressions import expression

_BREAK = r"\n\r\f"
_ESCAPED = rf"\\(?:[0-9a-f]{{1,6}}\s?|[^{_BREAK}])"
_TOKEN = expression(
    rf"""/\*.*?(?:\*/|\Z)
       | (?<![\w-])url\([\s]*+(?P<url>(?:[^"'()\\\s]|{_ESCAPED})*+)[\s]*+(?:\)|\Z)
       | (?P<function>(?<![\w-])(?:url|src|(?:-webkit-)?image-set)\([\s]*+)(?=["']|(?<=image-set\())
       | (?<![\w-])url\((?:[^)\\]|\\.)*+\)?
       | (?P<quoted>"(?P<double>(?:[^"\\{_BREAK}]|\\.)*+)|'(?P<single>(?:[^'\\{_BREAK}]|\\.)*+))["']?
       | \\.
       | @(?P<rule>import|namespace|charset)(?![\w-])
       | (?P<mark>[(){{}};])""",
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_ESCAPE = expression(rf"\\(?:([0-9a-f]{{1,6}})(?:\r\n|\s)?|(\r\n|[{_BREAK}])|(.))", re.IGNORECASE | re.DOTALL)
_LAST_CHARACTER = 0x10FFFF
MAX_LENGTH: Final = 4 << 20
"""Most characters read, a second of work; longer than any sheet written by a person."""


class Reference(NamedTuple):
    """An address in a style sheet, relative to that."""

    kind: str
    """`import` for another style sheet, `style` for what a rule shows."""
    address: str


IMPORT: Final = "import"
SHOWN: Final = "style"


class _State:
    """State of the tokenizer."""

    rule = ""
    """At-rule whose address has yet to come."""
    depth = 0
    """Open parentheses of `image-set(`, its own included; 0 outside."""
    is_wanted = False
    """Whether the next string is an address."""


def references(css: str) -> Iterator[Reference]:
    """The addresses in `css`, a style sheet or the declarations of a `style` attribute, in their order. Of more than
    `MAX_LENGTH` characters the rest is not read.
    """
    state = _State()
    for token in _TOKEN.finditer(css, 0, MAX_LENGTH):
        if token["url"] is not None:
            found = _reference(state, css, token.start("url"), token.end("url"))
        elif token["quoted"] is not None:
            is_address = state.is_wanted or state.depth == 1 or state.rule == IMPORT
            start, end = token.span("double" if token["double"] is not None else "single")
            found = _reference(state, css, start, end) if is_address else None
            state.is_wanted = False
        else:
            found = None
            _move(state, token)
        if found is not None:
            yield found


def _move(state: _State, token: re.Match[str]) -> None:
    """Note a token that is no address."""
    if token["function"]:
        is_set = "image-set" in token["function"].lower()
        state.is_wanted = not is_set
        state.depth += is_set or state.depth > 0
    elif token["rule"]:
        state.rule = token["rule"].lower()
    elif token["mark"] in {";", "{", "}"}:
        state.rule, state.depth = "", 0
    elif token["mark"] and state.depth:
        state.depth += 1 if token["mark"] == "(" else -1


def _reference(state: _State, css: str, start: int, end: int) -> Reference | None:
    """The reference from `start` to `end`; None for a namespace, a fragment, or a data URL."""
    rule, state.rule = state.rule, ""
    if start == end or css[start] == "#" or rule not in {"", IMPORT} or css[start : start + 5].lower() == "data:":
        return None
    text = css[start:end]
    return Reference(rule or SHOWN, _ESCAPE.sub(_unescaped, text) if "\\" in text else text)


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        number = int(escape[1], 16)
        return chr(number) if 0 < number <= _LAST_CHARACTER and not 0xD800 <= number < 0xE000 else "\ufffd"
    return escape[3] or ""
