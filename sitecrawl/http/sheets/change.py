"""What a person has changed while a crawl ran: kept with the crawl, told to other workers, read back with care."""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from sitecrawl.base.errors import CorruptFile, OptionError
from sitecrawl.base.patterns import BadPattern, compiled
from sitecrawl.crawldir.database import Database
from sitecrawl.crawldir.meta import CHANGES
from sitecrawl.http.sheets.host_names import host_pattern
from sitecrawl.http.sheets.live import OPTIONS
from sitecrawl.urls.place import KINDS

Value = float | int | str | tuple[str, ...] | None
"""None of a host's option: its sheets, or the crawl, decide."""

OF_CRAWL: Final = ("delay", "max_pages", "max_depth", "scope", "allow", "deny")
"""What may be changed for the whole crawl."""
MOST_PATTERNS: Final = 200
_LONGEST: Final = 2_000
"""Characters of a pattern, and of a host's name."""
_GREATEST: Final = 1_000_000_000
_FIELDS: Final = {"number", "at", "option", "host", "before", "after", "configured", "by"}
HAND: Final = "by hand"
SETTINGS: Final = "by the settings"


@dataclass(frozen=True, slots=True)
class Change:
    """One act."""

    number: str
    """Of 16 hexadecimal digits: what is told twice counts once."""
    at: float
    """Unix time, in seconds."""
    option: str
    host: str
    """Its name, with a port that is not its scheme's; empty for the crawl."""
    before: Value
    after: Value
    configured: Value
    """What the settings said at that time."""
    by: str = HAND

    @classmethod
    def new(cls, at: float, option: str, host: str, **values: Any) -> Change:
        return cls(secrets.token_hex(8), at, option, host, **values)

    @property
    def thing(self) -> tuple[str, str]:
        """What it is about: of these the last change counts."""
        return self.option, self.host

    @property
    def by_hand(self) -> Value:
        """What a host has of its own; None where its sheets, or the crawl, decide as they are configured."""
        return self.after if self.after != self.configured else None

    @property
    def order(self) -> tuple[float, str]:
        """Changes are put in this order, whoever hears of them first."""
        return self.at, self.number

    def __str__(self) -> str:
        of = f" of {self.host}" if self.host else ""
        return f"{self.option}{of}: {in_words(self.option, self.before)} → {in_words(self.option, self.after)}"

    def pack(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpack(cls, text: str | bytes) -> Change:
        """What `pack` has written. Raises `OptionError` for what it cannot have been."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or fields.keys() != _FIELDS:
            raise OptionError("A change by hand cannot be read")
        option, host, at = fields["option"], fields["host"], fields["at"]
        if not all(isinstance(fields[name], str) for name in ("number", "option", "host", "by")):
            raise OptionError("A change by hand cannot be read")
        if not isinstance(at, int | float) or not math.isfinite(at) or fields["by"] not in {HAND, SETTINGS}:
            raise OptionError("A change by hand cannot be read")
        check_thing(option, host)
        values = {name: _read(option, fields[name]) for name in ("before", "after", "configured")}
        return cls(fields["number"][:16], float(at), option, host, **values, by=fields["by"])


def last_of(changes: Iterable[Change]) -> dict[tuple[str, str], Change]:
    """Of each thing the change that counts; `changes` in their order."""
    return {change.thing: change for change in changes}


def check_thing(option: str, host: str) -> None:
    """Raises `OptionError` for what cannot be changed."""
    names = OPTIONS if host else OF_CRAWL
    if option not in names:
        of = "a host" if host else "the crawl"
        raise OptionError(f"{option!r} of {of} cannot be changed while it runs: there are {', '.join(sorted(names))}")
    if len(host) > _LONGEST or any(character.isspace() or not character.isprintable() for character in host):
        raise OptionError("Name a host as its URLs do, as in example.com or example.com:8080")


def host_named(text: str) -> str:
    """The host that a person means, as URLs have its name; empty for the crawl. Raises `OptionError`."""
    if not text.strip():
        return ""
    try:
        host = host_pattern(text)
    except ValueError as error:
        raise OptionError(str(error)) from None
    if host == "*":
        raise OptionError("* is every host: name none to change the whole crawl")
    return host


def checked(option: str, value: object) -> Value:
    """`value`, which a person asks for, as the option has it; text is read. Raises `OptionError` for what makes no
    sense.
    """
    found = _read(option, value)
    if isinstance(found, tuple):
        if len(found) > MOST_PATTERNS or any(len(pattern) > _LONGEST for pattern in found):
            raise OptionError(f"{option} has at most {MOST_PATTERNS} patterns of {_LONGEST:,} characters")
    elif isinstance(found, int | float) and found > _GREATEST:
        raise OptionError(f"{option} is at most {_GREATEST:,}, and not {found:g}")
    return found


def _read(option: str, value: object) -> Value:
    """The same for what may come of the settings, too, which have no such limits."""
    return None if value is None else _READERS[option](option, value)


def in_words(option: str, value: Value) -> str:
    if value is None:
        return "as for others"
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return " | ".join(value) if value else "nothing"
    if option == "delay":
        return f"{value:g} s"
    return "no limit" if value == 0 and option in {"max_pages", "max_depth"} else f"{value:g}"


def _seconds(option: str, value: object) -> float:
    return _number(option, value, least=0.0)


def _priority(option: str, value: object) -> float:
    return _number(option, value, least=0.001)


def _count(option: str, value: object) -> int:
    return int(_number(option, value, least=0, whole=True))


def _seats(option: str, value: object) -> int:
    return int(_number(option, value, least=1, whole=True))


def _number(option: str, value: object, *, least: float, whole: bool = False) -> float:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not least <= number < math.inf or (whole and not number.is_integer()):
        kind = "a whole number" if whole else "a number"
        raise OptionError(f"{option} is {kind} from {least:g} on, and not {str(value)[:100]!r}")
    return number


def _kind(option: str, value: object) -> str:
    if value not in KINDS:
        raise OptionError(f"{option} is one of {', '.join(KINDS)}, and not {str(value)[:100]!r}")
    return str(value)


def _patterns(option: str, value: object) -> tuple[str, ...]:
    """A text has one a line."""
    lines = value.splitlines() if isinstance(value, str) else value
    if not isinstance(lines, list | tuple) or not all(isinstance(line, str) for line in lines):
        raise OptionError(f"{option} is a list of regular expressions")
    found = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
    for pattern in found:
        try:
            compiled(pattern)
        except BadPattern as error:
            raise OptionError(f"{option}: {error}") from None
    return found


_READERS: Final[Mapping[str, Callable[[str, object], Value]]] = {
    "delay": _seconds,
    "concurrency": _seats,
    "priority": _priority,
    "max_pages": _count,
    "max_depth": _count,
    "scope": _kind,
    "allow": _patterns,
    "deny": _patterns,
}


def pack_changes(changes: Sequence[Change]) -> bytes:
    """As `meta` has them."""
    return json.dumps([change.pack() for change in changes]).encode()


def changes_of(database: Database) -> list[Change]:
    """What was changed by hand in the crawl in `database`, in its order. Raises `CorruptFile`."""
    stored = database.get("meta", CHANGES)
    try:
        return [Change.unpack(text) for text in json.loads(stored)] if stored is not None else []
    except (ValueError, TypeError, OptionError) as error:
        raise CorruptFile(f"What was changed by hand cannot be read: {error}") from error
