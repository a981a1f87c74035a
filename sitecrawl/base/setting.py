"""A setting, declared once: the add-on's default, the check, `scrapy settings`, docs/settings.md, the schema of job
files and the masking of secrets are made from it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from sitecrawl.base.errors import OptionError, meant

T = TypeVar("T")

NO_LIMIT: Final = 1 << 62
"""What 0 stands for, where it means that there is no limit."""
_READERS: Final = {bool: "getbool", int: "getint", float: "getfloat", list: "getlist", dict: "getdict"}
_NUMBERS: Final = {int: "a whole number", float: "a number"}
_TYPES: Final = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", str: "string"}
_KINDS: Final = frozenset({"yes or no", "name", "text", "list", "mapping", "key", "port"})
"""Units that the default or the line on the setting says already."""


@dataclass(frozen=True, slots=True, eq=False)
class Setting(Generic[T]):
    """One setting. Values are read as the type of its default."""

    name: str
    default: T
    unit: str
    """`share`: a number between 0 and 1."""
    what: str
    """What it does, in one line of Markdown: its cell in docs/settings.md, with links from there."""
    choices: tuple[str, ...] = ()
    """Allowed values of a name."""
    least: float = 0
    most: float = math.inf
    is_secret: bool = False

    def read(self, settings: Any) -> T:
        """Value in Scrapy's `settings`; the default in a project without the add-on."""
        value: T = getattr(settings, _READERS.get(type(self.default), "get"))(self.name, self.default)
        return value

    def check(self, settings: Any) -> None:
        """Raise `OptionError` for an invalid value."""
        if wanted := self.fault(settings):
            raise OptionError(f"{self.name} is {settings.get(self.name)!r}, and has to be {wanted}")

    def fault(self, settings: Any) -> str:
        """What the value must be, in words; empty if it is valid."""
        if self.choices:
            return self._choice_fault(settings.get(self.name))
        kind = type(self.default)
        if kind not in (bool, int, float):
            return ""
        try:
            number: Any = self.read(settings)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if self.unit == "share":
            return "" if 0 < number < 1 else "a number between 0 and 1"
        if self.least <= number <= self.most and number < math.inf:
            return ""
        if kind is bool:
            return "True or False"
        start = f" from {self.least:g}" if self.least > -math.inf else ""
        end = f" to {self.most:g}" if self.most < math.inf else " on" if start else ""
        return f"{_NUMBERS[kind]}{start}{end}"

    def _choice_fault(self, value: object) -> str:
        if isinstance(value, str | bool | int) and str(value) in self.choices:
            return ""
        words = ", ".join(word or "''" for word in self.choices)
        return f"one of {words}{meant(str(value), self.choices)}"

    def schema(self) -> dict[str, Any]:
        """JSON Schema of its values."""
        if self.choices:
            return {"enum": list(self.choices), "default": self.default}
        least = {"minimum": self.least} if type(self.default) in _NUMBERS else {}
        return {"type": _TYPES[type(self.default)], **least, "default": self.default}

    def row(self) -> str:
        """Its row of a table in docs/settings.md."""
        is_large = isinstance(self.default, int | float) and self.default > 10_000
        default = f"{self.default:_}" if is_large else repr(self.default).replace("'", '"')
        unit = "" if self.unit in _KINDS else f" {self.unit}"
        return f"| `{self.name}` | `{default}`{unit} | {self.what} |"


@dataclass(frozen=True, slots=True, eq=False)
class Limit(Setting[T]):
    """A limit on what comes off the network. Two limits may share a setting of Scrapy's."""

    stat: str = ""
    """Statistic that counts what exceeded it."""

    def read_most(self, settings: Any) -> T | int:
        """Value in `settings`, with 0 as `NO_LIMIT`."""
        return self.read(settings) or NO_LIMIT


@dataclass(frozen=True, slots=True, eq=False)
class FixedLimit(Generic[T]):
    """A limit on what comes off the network that is no setting."""

    value: T
    unit: str
    stat: str
    """Statistic that counts what exceeded it."""
