"""A setting, declared once: the add-on's default, the check, `scrapy settings`, docs/settings.md, the schema of job
files and the masking of secrets are made from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, Final, Generic, TypeVar

from sitecrawl.base.errors import OptionError, meant

T = TypeVar("T")

NO_LIMIT: Final = 1 << 62
"""What 0 stands for, where it means that there is no limit."""
_READERS: Final = {bool: "getbool", int: "getint", float: "getfloat", list: "getlist", dict: "getdict"}
_NUMBERS: Final = {int: "a whole number", float: "a number"}
_TYPES: Final = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", str: "string"}


@dataclass(frozen=True, slots=True, eq=False)
class Setting(Generic[T]):
    """One setting. The type of its default is what its values are read as."""

    name: str
    default: T
    unit: str
    """`share`: a number between 0 and 1."""
    what: str
    """What it does, in one line of Markdown: its cell in docs/settings.md, with links from there."""
    choices: tuple[str, ...] = ()
    """All that a name may be."""
    least: float = 0
    most: float = inf
    is_secret: bool = False

    def read(self, settings: Any) -> T:
        """Its value among Scrapy's `settings`, also in a project without the add-on."""
        value: T = getattr(settings, _READERS.get(type(self.default), "get"))(self.name, self.default)
        return value

    def check(self, settings: Any) -> None:
        """Raises `OptionError` for a value of no use."""
        value = settings.get(self.name)
        if self.choices:
            if not isinstance(value, str | bool | int) or str(value) not in self.choices:
                words = ", ".join(word or "''" for word in self.choices)
                near = meant(str(value), self.choices)
                raise OptionError(f"{self.name} is {value!r}, and has to be one of {words}{near}")
        elif not self._is_of_use(settings):
            raise OptionError(f"{self.name} is {value!r}, and has to be {self._wanted()}")

    def _is_of_use(self, settings: Any) -> bool:
        if type(self.default) not in (bool, int, float):
            return True
        try:
            value: Any = self.read(settings)
        except (TypeError, ValueError, OverflowError):
            return False
        if self.unit == "share":
            return bool(0 < value < 1)
        return bool(self.least <= value <= self.most and value < inf)

    def _wanted(self) -> str:
        if isinstance(self.default, bool):
            return "True or False"
        if self.unit == "share":
            return "a number between 0 and 1"
        end = "on" if self.most == inf else f"to {self.most}"
        return f"{_NUMBERS[type(self.default)]} from {self.least:g} {end}"

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its values."""
        if self.choices:
            return {"enum": list(self.choices), "default": self.default}
        least = {"minimum": self.least} if type(self.default) in _NUMBERS else {}
        return {"type": _TYPES[type(self.default)], **least, "default": self.default}

    def row(self) -> str:
        """Its row of a table in docs/settings.md."""
        is_large = isinstance(self.default, int | float) and self.default > 10_000
        default = f"{self.default:_}" if is_large else repr(self.default).replace("'", '"')
        return f"| `{self.name}` | `{default}` | {self.unit} | {self.what} |"


@dataclass(frozen=True, slots=True, eq=False)
class Limit(Setting[T]):
    """A limit on what comes off the network. Two share a setting where Scrapy's counts for both."""

    stat: str = ""
    """Counts what went beyond it."""

    def read_most(self, settings: Any) -> T | int:
        """Its value, where 0 means that there is no limit."""
        return self.read(settings) or NO_LIMIT


@dataclass(frozen=True, slots=True, eq=False)
class FixedLimit(Generic[T]):
    """A limit on what comes off the network that is no setting."""

    value: T
    unit: str
    stat: str
    """Counts what went beyond it."""
