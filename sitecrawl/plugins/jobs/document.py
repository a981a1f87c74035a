"""A TOML or YAML file as plain values, and the line of each: bounded, for a file may be anything."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from sitecrawl.base.errors import OptionError
from sitecrawl.base.schemas import Place, Problem
from sitecrawl.base.text_files import Wrong, text_in
from sitecrawl.base.yamlnodes import compose
from sitecrawl.plugins.jobs.toml_lines import lines_of

MAX_DEPTH: Final = 16
"""Tables and lists within one another: the deepest that a job has is a header in a sheet, or a feed's option."""
_LONG_KEY: Final = re.compile(r"""(?<![A-Za-z0-9_-])(?:(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){100}""")
"""A dotted key of so many parts takes `tomllib` their square, seconds for some thousands."""
_MERGE: Final = "tag:yaml.org,2002:merge"
_TOO_DEEP: Final = "too many lists or tables within one another"


@dataclass(frozen=True, slots=True)
class Document:
    path: Path
    values: dict[str, Any]
    find_lines: Callable[[], dict[Place, int]]
    """Looked for when there is something wrong, and not before."""

    def told(self, found: list[Problem]) -> str:
        """Each problem with its line, in their order."""
        lines = self.find_lines()
        placed = sorted((_line(lines, problem.place), problem.message) for problem in found)
        return "\n".join(f"{self.path}, line {line}: {message}" for line, message in dict.fromkeys(placed))


def _line(lines: dict[Place, int], place: Place) -> int:
    """Of what is missing, the line of that in which it is."""
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def read_document(path: Path) -> Document:
    """Raises `OptionError`, which names the file, and the line where there is one."""
    try:
        return _toml(path) if path.suffix.lower() == ".toml" else _yaml(path)
    except Wrong as error:
        raise OptionError(f"{path}, line {error.line}: {error}") from error


def _yaml(path: Path) -> Document:
    lines: dict[Place, int] = {(): 1}
    values = _plain(compose(path, "job"), (), lines)
    if not isinstance(values, dict):
        raise Wrong(1, "a job is made of tables such as crawl:, and this is none")
    return Document(path, values, lambda: lines)


def _toml(path: Path) -> Document:
    text = text_in(path, "job")
    if found := _LONG_KEY.search(text):
        raise Wrong(text.count("\n", 0, found.start()) + 1, _TOO_DEEP)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        at = re.search(r" \(at line (\d+), column \d+\)$", message)
        line = int(at[1]) if at else max(1, text.count("\n") + (not text.endswith("\n")))
        raise Wrong(line, re.sub(r" [(]at .*[)]$", "", message)) from None
    except (RecursionError, ValueError) as error:  # the latter: a whole number of thousands of digits
        why = _TOO_DEEP if isinstance(error, RecursionError) else str(error)
        raise OptionError(f"{path}: {why}") from None
    if _is_too_deep(values):
        raise OptionError(f"{path}: {_TOO_DEEP}")
    return Document(path, values, lambda: lines_of(text))


def _is_too_deep(values: object) -> bool:
    stack = [(values, 0)]
    while stack:
        value, depth = stack.pop()
        if depth > MAX_DEPTH:
            return True
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        stack.extend((one, depth + 1) for one in inner)
    return False


def _plain(node: yaml.Node, place: Place, lines: dict[Place, int]) -> Any:
    """What the node stands for. Keys are text, and stand once."""
    line = lines.setdefault(place, node.start_mark.line + 1)
    if len(place) > MAX_DEPTH:
        raise Wrong(line, _TOO_DEEP)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(one, (*place, number), lines) for number, one in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    values: dict[str, Any] = {}
    for key, value in node.value:
        at = key.start_mark.line + 1
        if key.tag == _MERGE:
            raise Wrong(at, "YAML 1.2 has no merge keys (<<): write out what they would bring")
        if not isinstance(key, yaml.ScalarNode):
            raise Wrong(at, "a key is a text, and not a list or a table")
        if key.value in values:
            raise Wrong(at, f"{key.value!r} stands here twice")
        lines.setdefault((*place, key.value), at)
        values[key.value] = _plain(value, (*place, key.value), lines)
    return values


_CONSTANTS: Final = {"": None, "~": None, "null": None, "true": True, "false": False}
_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,400}")
_NUMBER: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


def _scalar(node: yaml.ScalarNode) -> Any:
    """As YAML 1.2 has it (section 10.3.2): no `yes` is true, no `1:30` a number, no `010` an eight."""
    text: str = node.value
    if node.style is not None:
        return text
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
