"""Sheets as they are written in settings and job files: plain mappings, checked by their schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final

from sitecrawl.base.errors import InvalidUrl, OptionError
from sitecrawl.base.expressions import expression
from sitecrawl.base.patterns import compiled
from sitecrawl.base.schemas import MOST_TOLD, Problem, problems, schema_in
from sitecrawl.http.login import COOKIE, CSS, Login
from sitecrawl.http.proxies import Proxy
from sitecrawl.http.sheets import RobotsException, Sheet, Sheets, undotted
from sitecrawl.urls.url import parse

SECRET: Final = frozenset({"headers", "cookies", "proxy", "login"})
"""Keys below which passwords stand: no message shows their values."""

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""RFC 9110, section 5.6.2."""
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
"""RFC 9110, section 5.5, in Latin-1."""
_COOKIE_VALUE: Final = re.compile(r"[\x21-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*")
"""RFC 6265, section 4.1.1, and quotes."""
_REASON: Final = re.compile(r"[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*")
_NO_HOSTS: Final = "is no name of hosts: write example.com, example.com:8080, *.example.com or *"
_OF_HOST: Final = expression(r"[^\s/?#@*\\]+")
_ITS_OWN: Final = {"443": "https", "21": "ftp"}
"""Schemes of which a port is the usual one: their URLs do not name it."""
_MADE_BY_US: Final = frozenset({"host", "content-length", "transfer-encoding", "connection", "cookie"})


@cache
def sheet_schema() -> Mapping[str, Any]:
    return schema_in("sitecrawl.http", "sheet.schema.json")


def read_sheets(given: object, where: str) -> Sheets:
    """`given`: a list of mappings. Raises `OptionError`, which names `where` they stand and the sheet, by number."""
    schema = {"type": "array", "items": sheet_schema()}
    if found := list(islice(problems(schema, given, READERS, SECRET), MOST_TOLD)):
        raise OptionError("\n".join(_line(where, problem) for problem in found))
    assert isinstance(given, Sequence)
    for number, one in enumerate(given):
        if message := login_problem(one):
            raise OptionError(_line(where, Problem((number,), message)))
    return Sheets([_sheet_of(one) for one in given])


def login_problem(given: Mapping[str, Any]) -> str:
    """What is wrong with the `login` of a sheet beyond what the schema says; empty for nothing, and for no login."""
    if "login" not in given:
        return ""
    if "*" in given.get("hosts", ()):
        return "login: hosts is *, and every host of the web would be told: name those it is for"
    try:
        Login.read(given["login"])
    except OptionError as error:
        return str(error)
    return ""


def _line(where: str, problem: Problem) -> str:
    place = f"{where}, sheet {int(problem.place[0]) + 1}" if problem.place else where
    return f"{place}: {problem.message}"


def _sheet_of(given: Mapping[str, Any]) -> Sheet:
    """The sheet that `given` describes, which the schema has found sound."""
    lists = {name: tuple(given[name]) for name in ("allow", "deny") if name in given}
    hosts = tuple(_host_pattern(text) for text in given["hosts"])
    robots = given.get("robots")
    return Sheet(
        **{
            **given,
            **lists,
            "hosts": hosts,
            "robots": robots and RobotsException(robots["reason"].strip(), tuple(robots.get("paths", ("/",)))),
        }
    )


def _matching(pattern: re.Pattern[str], wanted: str) -> Callable[[str], None]:
    def check(text: str) -> None:
        if not pattern.fullmatch(text):
            raise ValueError(wanted)

    return check


def _header_name(text: str) -> None:
    if not _TOKEN.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a header")
    if text.lower() in _MADE_BY_US:
        hint = ": write cookies in its place" if text.lower() == "cookie" else ""
        raise ValueError(f"the header {text} is made by the crawler{hint}")


def _cookie_name(text: str) -> None:
    if not _TOKEN.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a cookie")


def _selector(text: str) -> None:
    from cssselect import SelectorError  # noqa: PLC0415 - for those who log in
    from parsel.csstranslator import HTMLTranslator  # noqa: PLC0415

    try:
        HTMLTranslator().css_to_xpath(text)
    except SelectorError as error:
        raise ValueError(f"{text!r} is no CSS selector: {error}") from None


def _success(text: str) -> None:
    if text.startswith(CSS):
        _selector(text.removeprefix(CSS))
    elif not text.startswith(COOKIE):
        compiled(text)


def _login_page(text: str) -> None:
    if not text.startswith(("http://", "https://")):
        raise ValueError("it has to begin with https:// or http://")


def _secret(text: str) -> None:
    if not text.isprintable():
        raise ValueError("it has more than one line, or what no header may hold")


def _proxy(text: str) -> None:
    if text:
        Proxy.of(text)


def _host_pattern(text: str) -> str:
    """The names of hosts in `text` as URLs have them: in small letters, in Punycode, without the usual port.

    Raises `ValueError`.
    """
    text = text.strip()
    star, host = ("*.", text[2:]) if text.startswith("*.") else ("", text)
    if text == "*":
        return text
    if not _OF_HOST.fullmatch(host):
        raise ValueError(f"{text!r} {_NO_HOSTS}")
    port = host.rpartition(":")[2]
    try:
        found = parse(f"{_ITS_OWN.get(port, 'http')}://{host}/", schemes=("http", "https", "ftp")).host
    except InvalidUrl:
        raise ValueError(f"{text!r} {_NO_HOSTS}") from None
    if star and ":" in found:
        raise ValueError(f"{text!r} has a port: *. names hosts on all ports, so leave it out")
    return star + undotted(found)


READERS: Final = {
    "hosts": _host_pattern,
    "regular-expression": compiled,
    "header-name": _header_name,
    "header-value": _matching(_HEADER_VALUE, "a header is one line of Latin-1"),
    "cookie-name": _cookie_name,
    "cookie-value": _matching(_COOKIE_VALUE, "a cookie is ASCII without spaces, commas, semicolons and backslashes"),
    "proxy": _proxy,
    "selector": _selector,
    "login-success": _success,
    "login-page": _login_page,
    "secret": _secret,
    "reason": _matching(_REASON, "say in one line by whose leave"),
    "path": _matching(re.compile(r"/\S*"), "a path begins with a slash, and has no spaces"),
}
"""What reads the formats of the schema: see `sitecrawl.base.schemas`."""
