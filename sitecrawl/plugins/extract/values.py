"""What a field's type makes of the text that was found."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from math import inf, isfinite
from typing import Any, Final

from sitecrawl.base.errors import InvalidUrl
from sitecrawl.urls.url import parse

_MAX_DIGITS: Final = 100
_NO_NUMBER = re.compile(r"[\s\u00a0\u202f'\u2019_]+")
_TRUE: Final = frozenset(
    {"true", "yes", "1", "on", "https://schema.org/instock", "http://schema.org/instock", "instock"}
)
_FALSE: Final = frozenset({"false", "no", "0", "off"})


class Unfit(ValueError):
    """A text that the type cannot be made of."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """How the text of a field becomes its value."""

    type: str = "text"
    decimal: str = "."
    """Of `number`: what stands before the fraction, `.` or `,`; the other one groups digits."""
    format: str | None = None
    """Of `date` and `datetime`: as for `strptime`; None for ISO 8601."""

    def __call__(self, found: Any, base: str) -> Any:
        """Raises `Unfit`. `found` is a text, or what JSON-LD has; `base` is what URLs are relative to."""
        if self.type == "json":
            return found
        if isinstance(found, dict | list):
            raise Unfit("an object, and the type is not json")
        return _TYPES[self.type](self, found, base)


def _text(_: Conversion, found: Any, __: str) -> str:
    return " ".join(_plain(found).split())


def _plain(found: Any) -> str:
    return str(found).lower() if isinstance(found, bool) else str(found)


def _html(_: Conversion, found: Any, __: str) -> str:
    return _plain(found)


def _number(how: Conversion, found: Any, _: str) -> float:
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    try:
        number = float(found if is_number else _numeral(how, found))
    except OverflowError:  # JSON's whole numbers have any length
        number = inf
    if not isfinite(number):  # no feed and no database has a way to write it
        raise Unfit("too great a number")
    return number


def _numeral(how: Conversion, found: Any) -> str:
    text = _digits(found).replace("." if how.decimal == "," else ",", "").replace(how.decimal, ".")
    if not re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", text, re.ASCII):
        raise Unfit("no number")
    return text


def _integer(how: Conversion, found: Any, base: str) -> int:
    number = _number(how, found, base)
    if not number.is_integer():
        raise Unfit("no whole number")
    text = _digits(found)
    return int(text) if re.fullmatch(r"[+-]?\d+", text, re.ASCII) else int(number)


def _digits(found: Any) -> str:
    text = _NO_NUMBER.sub("", _plain(found)).replace("\u2212", "-")
    if len(text) > _MAX_DIGITS:
        raise Unfit("no number")
    return text


def _boolean(_: Conversion, found: Any, __: str) -> bool:
    text = _plain(found).strip().lower()
    if text not in _TRUE | _FALSE:
        raise Unfit("neither true nor false")
    return text in _TRUE


def _datetime(how: Conversion, found: Any, _: str) -> str:
    return _moment(how, found).isoformat()


def _date(how: Conversion, found: Any, _: str) -> str:
    return _moment(how, found).date().isoformat()


def _moment(how: Conversion, found: Any) -> datetime:
    text = " ".join(_plain(found).split())
    try:
        # No time zone is made up: what has none has none.
        return datetime.strptime(text, how.format) if how.format else datetime.fromisoformat(text)  # noqa: DTZ007
    except (ValueError, OverflowError):
        raise Unfit(f"not like {how.format}" if how.format else "no date of ISO 8601") from None


def _url(_: Conversion, found: Any, base: str) -> str:
    try:
        return parse(_plain(found).strip(), base).href
    except InvalidUrl:
        raise Unfit("no http(s) URL") from None


_TYPES: Final[dict[str, Callable[[Conversion, Any, str], Any]]] = {
    "text": _text,
    "html": _html,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "date": _date,
    "datetime": _datetime,
    "url": _url,
}
TYPES: Final = (*_TYPES, "json")


def is_format(text: str) -> bool:
    """Whether `strptime` knows all of `text`: what it writes of a date, it reads again."""
    moment = datetime.combine(date(2001, 2, 3), datetime.min.time())
    try:
        datetime.strptime(moment.strftime(text), text)  # noqa: DTZ007
    except (ValueError, re.error):
        return False
    return "%" in text
