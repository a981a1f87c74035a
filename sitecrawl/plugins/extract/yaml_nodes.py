"""YAML whose every part knows its line, for error messages.

Every scalar is text (YAML's own types, as `no` for a boolean, are ignored); the reader of a part says what it must
be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, TypeVar

import yaml

from sitecrawl.base.errors import OptionError, meant
from sitecrawl.base.text_files import Wrong, text_in

_MAX_PARTS: Final = 100_000
"""Most texts, lists and mappings in a file; aliases count each time."""
_YES_AND_NO: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


_Made = TypeVar("_Made")


class YamlPart:
    """A mapping, a list or a scalar of the file. Its methods raise `Wrong` if it is of another kind. Mistakes that do
    not stop reading, such as an unknown key, are added to `errors`.
    """

    def __init__(self, node: yaml.Node, errors: list[Wrong]) -> None:
        self._node = node
        self.errors = errors
        self.line: int = node.start_mark.line + 1

    def wrong(self, message: str) -> Wrong:
        return Wrong(self.line, message)

    @property
    def is_text(self) -> bool:
        return isinstance(self._node, yaml.ScalarNode)

    @property
    def is_list(self) -> bool:
        return isinstance(self._node, yaml.SequenceNode)

    def mapping(self, known: Collection[str] | None = None) -> dict[str, YamlPart]:
        """Values by key; unknown keys are errors, if `known` is given."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.wrong(f"here belongs a mapping (`key: value`), not {self._kind()}")
        values: dict[str, YamlPart] = {}
        for key_node, value_node in self._node.value:
            key = YamlPart(key_node, self.errors)
            name = key.text()
            if name in values:
                self.errors.append(key.wrong(f"{name!r} stands here twice"))
            elif known is not None and name not in known:
                hint = meant(name, known) or f": there are {', '.join(known)}"
                self.errors.append(key.wrong(f"there is no {name!r} here{hint}"))
            else:
                values[name] = YamlPart(value_node, self.errors)
        return values

    def items(self) -> list[YamlPart]:
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.wrong(f"here belongs a list (`- one`), not {self._kind()}")
        return [YamlPart(node, self.errors) for node in self._node.value]

    def read(self, reader: Callable[[YamlPart], _Made]) -> list[_Made]:
        """A list with the result of `reader`; an empty one, and an entry in `errors`, if that raises `Wrong`."""
        try:
            return [reader(self)]
        except Wrong as error:
            self.errors.append(error)
            return []

    def each(self, reader: Callable[[YamlPart], _Made]) -> list[_Made]:
        """Results of `reader` for the items that it can read."""
        return [made for item in self.items() for made in item.read(reader)]

    def text(self) -> str:
        if not isinstance(self._node, yaml.ScalarNode):
            raise self.wrong(f"here belongs a text, not {self._kind()}")
        text: str = self._node.value
        return text

    def yes_or_no(self) -> bool:
        text = self.text()
        if text.lower() not in _YES_AND_NO:
            raise self.wrong(f"here belongs true or false, not {text!r}")
        return _YES_AND_NO[text.lower()]

    def _kind(self) -> str:
        return {"scalar": "a text", "sequence": "a list", "mapping": "a mapping"}[self._node.id]


def read_yaml(path: Path) -> YamlPart:
    """Read the file's only document. Raises `OptionError`, which names file and line."""
    try:
        return YamlPart(_root(text_in(path, "rules")), [])
    except Wrong as error:
        raise OptionError(f"{path}:{error.line}: {error}") from error


def _root(text: str) -> yaml.Node:
    """Raises `Wrong` for what is no YAML."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Wrong(mark.line + 1 if mark else 1, str(error.problem or error.context)) from error
    except yaml.reader.ReaderError as error:
        raise Wrong(text.count("\n", 0, error.position) + 1, "a character that YAML does not allow") from error
    except RecursionError:
        raise Wrong(1, "too many lists or mappings within one another") from None
    if node is None:
        raise Wrong(1, "there is nothing in this file")
    if _size(node) > _MAX_PARTS:
        raise Wrong(1, "there is too much in this file, with all that aliases (`*name`) repeat")
    return node


def _size(node: yaml.Node) -> int:
    """Number of nodes in `node`, counted up to a little more than `_MAX_PARTS`."""
    size, stack = 0, [node]
    while stack and size <= _MAX_PARTS:
        node = stack.pop()
        size += 1
        if isinstance(node, yaml.MappingNode):
            stack.extend(part for pair in node.value for part in pair)
        elif isinstance(node, yaml.SequenceNode):
            stack.extend(node.value)
    return size
