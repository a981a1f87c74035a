"""A file of rules as a `RuleSet`, with every error in it told by file and line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from math import inf, isfinite
from pathlib import Path
from typing import Any, Final

from sitecrawl.base.errors import InvalidUrl, OptionError
from sitecrawl.base.patterns import BadPattern, compiled
from sitecrawl.base.text_files import Wrong
from sitecrawl.plugins.export.sources import SELECTORS, BadSource, PageText, Source, pattern_of, source_of
from sitecrawl.plugins.extract.yaml_nodes import YamlPart, read_yaml
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
class _Conversion:
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


def _text(_: _Conversion, found: Any, __: str) -> str:
    return " ".join(_plain(found).split())


def _plain(found: Any) -> str:
    return str(found).lower() if isinstance(found, bool) else str(found)


def _html(_: _Conversion, found: Any, __: str) -> str:
    return _plain(found)


def _number(how: _Conversion, found: Any, _: str) -> float:
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    try:
        number = float(found if is_number else _numeral(how, found))
    except OverflowError:  # JSON's whole numbers have any length
        number = inf
    if not isfinite(number):  # no feed and no database has a way to write it
        raise Unfit("too great a number")
    return number


def _numeral(how: _Conversion, found: Any) -> str:
    text = _digits(found).replace("." if how.decimal == "," else ",", "").replace(how.decimal, ".")
    if not re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", text, re.ASCII):
        raise Unfit("no number")
    return text


def _integer(how: _Conversion, found: Any, base: str) -> int:
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


def _boolean(_: _Conversion, found: Any, __: str) -> bool:
    text = _plain(found).strip().lower()
    if text not in _TRUE | _FALSE:
        raise Unfit("neither true nor false")
    return text in _TRUE


def _datetime(how: _Conversion, found: Any, _: str) -> str:
    return _moment(how, found).isoformat()


def _date(how: _Conversion, found: Any, _: str) -> str:
    return _moment(how, found).date().isoformat()


def _moment(how: _Conversion, found: Any) -> datetime:
    text = " ".join(_plain(found).split())
    try:
        # No time zone is made up: what has none has none.
        return datetime.strptime(text, how.format) if how.format else datetime.fromisoformat(text)  # noqa: DTZ007
    except (ValueError, OverflowError):
        raise Unfit(f"not like {how.format}" if how.format else "no date of ISO 8601") from None


def _url(_: _Conversion, found: Any, base: str) -> str:
    try:
        return parse(_plain(found).strip(), base).href
    except InvalidUrl:
        raise Unfit("no http(s) URL") from None


_TYPES: Final[dict[str, Callable[[_Conversion, Any, str], Any]]] = {
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


def _is_format(text: str) -> bool:
    """Whether `strptime` knows all of `text`: what it writes of a date, it reads again."""
    moment = datetime.combine(date(2001, 2, 3), datetime.min.time())
    try:
        datetime.strptime(moment.strftime(text), text)  # noqa: DTZ007
    except (ValueError, re.error):
        return False
    return "%" in text


@dataclass(frozen=True, slots=True)
class Field:
    """One property of an item."""

    name: str
    line: int
    sources: Sequence[Source]
    """The first that finds something counts."""
    conversion: _Conversion = field(default_factory=_Conversion)
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


_SOURCE: Final = (*SELECTORS, "regex")
_FIELD: Final = (*_SOURCE, "any", "type", "required", "many", "default", "decimal", "format")
_RULE: Final = ("name", "url", "each", "next", "fields")
_NAME: Final = re.compile(r"[^\W\d]\w*")
_TOLD: Final = 20
"""Errors that are told of one file."""


def read_rules(path: Path) -> RuleSet:
    """Raises `OptionError`, which names file and line of every error in it, a line each."""
    root = read_yaml(path)
    files = root.read(lambda part: _file(path, part))
    if root.errors:  # one run tells of all: a part with an error does not keep the others from being read
        told = sorted(root.errors, key=lambda error: error.line)[:_TOLD]
        raise OptionError("\n".join(f"{path}:{error.line}: {error}" for error in told))
    return files[0]


def _file(path: Path, root: YamlPart) -> RuleSet:
    values = root.mapping(("follow", "rules"))
    follows_all, follow = _follow(values["follow"]) if "follow" in values else (True, [])
    if "rules" not in values:
        raise root.wrong("there are no `rules:` in this file")
    rules = values["rules"].each(_rule)
    if not rules and not root.errors:
        raise values["rules"].wrong("there is no rule in `rules:`")
    names: dict[str, Rule] = {}
    for rule in rules:
        if (first := names.setdefault(rule.name, rule)) is not rule:
            raise Wrong(rule.line, f"there is a rule {rule.name!r} already, in line {first.line}")
    return RuleSet(path, rules, follows_all, follow)


def _follow(part: YamlPart) -> tuple[bool, list[Source]]:
    if part.is_text:
        if part.text() not in ("all", "none"):
            raise part.wrong(f"follow is `all`, `none` or a list of selectors, and not {part.text()!r}")
        return part.text() == "all", []
    return False, part.each(_source)


def _rule(part: YamlPart) -> Rule:
    values = part.mapping(_RULE)
    for key in ("name", "fields"):
        if key not in values:
            raise part.wrong(f"this rule has no `{key}:`")
    name = _name(values["name"])
    fields = values["fields"].mapping()
    if not fields:
        raise values["fields"].wrong("there is no field in `fields:`")
    each = _each(values["each"]) if "each" in values else None
    following = values.get("next")
    return Rule(
        name,
        part.line,
        [made for name, one in fields.items() for made in one.read(partial(_field, name, each))],
        _url_pattern(values["url"]) if "url" in values else None,
        each,
        [] if following is None else following.each(_source) if following.is_list else following.read(_source),
    )


def _name(part: YamlPart) -> str:
    text = part.text()
    if not _NAME.fullmatch(text):
        raise part.wrong(f"{text!r} is no name: letters, digits and underscores make one")
    return text


def _url_pattern(part: YamlPart) -> Any:
    try:
        return compiled(part.text())
    except BadPattern as error:
        raise part.wrong(str(error)) from None


def _each(part: YamlPart) -> Source:
    source = _source(part)
    if source.pattern is not None:
        raise part.wrong("`each` chooses elements by css or xpath, or objects by jsonld or json, and takes no regex")
    if source.kind == "jsonld" and not source.type:
        raise part.wrong("`each` has no object at hand: name the type")
    return source


def _source(part: YamlPart) -> Source:
    """A source from a CSS selector or a mapping."""
    return _made({"css": part} if part.is_text else part.mapping(_SOURCE), part)


def _made(values: dict[str, YamlPart], whole: YamlPart) -> Source:
    kinds = [kind for kind in SELECTORS if kind in values]
    if len(kinds) > 1:
        raise values[kinds[1]].wrong(f"{kinds[0]} and {kinds[1]} exclude each other: use `any` for alternatives")
    pattern = values.get("regex")
    if not kinds and pattern is None:
        raise whole.wrong("nothing says where to look: css, xpath, jsonld, json or regex")
    part = values[kinds[0]] if kinds else pattern
    assert part is not None
    at = pattern or part
    try:
        chosen = pattern_of(pattern.text()) if pattern is not None else None
        at = part
        return source_of(kinds[0] if kinds else "regex", part.text(), chosen)
    except BadSource as error:
        raise at.wrong(str(error)) from None


def _field(name: str, each: Source | None, part: YamlPart) -> Field:
    if not _NAME.fullmatch(name):
        raise part.wrong(f"{name!r} is no name of a field: letters, digits and underscores make one")
    if name == "rule":
        raise part.wrong("every item has a field `rule`, the name of its rule: choose another name")
    values = {"css": part} if part.is_text else part.mapping(_FIELD)
    conversion = _conversion(values)
    many = "many" in values and values["many"].yes_or_no()
    found = Field(
        name,
        part.line,
        _sources(values, part, each),
        conversion,
        "required" in values and values["required"].yes_or_no(),
        many,
        _default(values, conversion, many=many),
    )
    if found.required and "default" in values:
        raise values["default"].wrong("a field with a default is never missing: leave out `required` or `default`")
    return found


def _sources(values: dict[str, YamlPart], part: YamlPart, each: Source | None) -> list[Source]:
    if "any" in values:
        for key in _SOURCE:
            if key in values:
                raise values[key].wrong(f"{key} and any exclude each other: put {key} into the list of any")
        found = [_source(one) for one in values["any"].items()]
        if not found:
            raise values["any"].wrong("`any` is an empty list")
    else:
        found = [_made({key: values[key] for key in _SOURCE if key in values}, part)]
    for source in found:
        if source.kind == "jsonld" and not source.type and (each is None or each.kind != "jsonld"):
            raise part.wrong(f"{source.text!r} needs an object at hand, which only `each` with jsonld gives")
        if source.kind == "jsonld" and source.type and not source.properties:
            raise part.wrong(f"{source.text!r} names an object, and no property of it")
    return found


def _conversion(values: dict[str, YamlPart]) -> _Conversion:
    kind = values["type"].text() if "type" in values else "text"
    if kind not in TYPES:
        raise values["type"].wrong(f"there is no type {kind!r}: there are {', '.join(TYPES)}")
    decimal = values["decimal"].text() if "decimal" in values else "."
    if "decimal" in values and (kind not in ("number", "integer") or decimal not in (".", ",")):
        raise values["decimal"].wrong("decimal is '.' or ',', and belongs to the types number and integer")
    if (form := values.get("format")) is not None:
        if kind not in ("date", "datetime"):
            raise form.wrong("format belongs to the types date and datetime")
        if not _is_format(form.text()):
            raise form.wrong(f"{form.text()!r} is no format of dates: write one like %d.%m.%Y")
    if kind == "json" and "regex" in values:
        raise values["regex"].wrong("what regex chooses is a text: json is for objects of JSON")
    return _Conversion(kind, decimal, form.text() if form is not None else None)


def _default(values: dict[str, YamlPart], conversion: _Conversion, *, many: bool) -> Any:
    if "default" not in values:
        return [] if many else None
    part = values["default"]
    try:
        if many:
            return [conversion(one.text(), "http://default.invalid/") for one in part.items()]
        return conversion(part.text(), "http://default.invalid/")
    except Unfit as error:
        raise part.wrong(f"{part.text()!r} is {error}, and the type is {conversion.type}") from None
