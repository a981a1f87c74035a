"""Sheets: what is otherwise for some hosts than for the crawl, laid over it and over one another.

They are Heritrix' (Mohr et al. 2004, "Introduction to Heritrix", "settings overrides"; its "sheet overlays" today).
A sheet names hosts and says what holds for them; what it leaves out it leaves as it is. Where several name a host,
the later counts, option by option; headers and cookies are joined by their names.

Names of hosts are as URLs have them after canonicalisation: in small letters, in Punycode, with a port where the URL
has one that is not its scheme's. A dot at the end of a name means nothing: whoever links to `example.com.` gets no
other sheet.

- `example.com`, `example.com:8080`: this host, on this port
- `*.example.com`: all names below `example.com`, on any port, and not itself
- `*`: every host
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, lru_cache
from itertools import islice
from typing import Any, Final

from sitecrawl.base.errors import InvalidUrl, OptionError
from sitecrawl.base.expressions import expression
from sitecrawl.base.patterns import compiled
from sitecrawl.base.schemas import MOST_TOLD, Problem, problems, schema_in
from sitecrawl.http.login import COOKIE, CSS, Login
from sitecrawl.http.proxies import Proxy
from sitecrawl.urls.url import parse

KEPT: Final = 4_096
"""Hosts of which the answer is kept."""


@dataclass(frozen=True, slots=True)
class RobotsException:
    """Where a host's robots.txt is not obeyed, by whose leave."""

    reason: str
    """Never empty: who allowed it. It stands in the log, the report and the archive."""
    paths: tuple[str, ...] = ("/",)
    """Path prefixes."""

    def covers(self, target: str) -> bool:
        """Whether it is about a URL with this path and query."""
        return target.startswith(self.paths)


@dataclass(frozen=True, slots=True)
class Sheet:
    """What holds for `hosts`. None, and what is empty, leaves an option as the crawl has it."""

    hosts: tuple[str, ...] = ()
    delay: float | None = None
    """Seconds between two requests to one host; in the place of DOWNLOAD_DELAY. A Crawl-delay still counts."""
    concurrency: int | None = None
    """Requests under way on one host; in the place of CONCURRENT_REQUESTS_PER_DOMAIN."""
    priority: float | None = None
    """How many turns a host gets where another gets one; 1.0 is the crawl's. Above 0."""
    max_pages: int | None = None
    """URLs to fetch of one host; 0 for no limit."""
    max_depth: int | None = None
    """Links to follow from a seed to a URL of this host; 0 for no limit."""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    """Regular expressions for URLs of these hosts, besides those of the crawl."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request, in the place of the crawl's own of the same name."""
    cookies: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent at first; what the host sets afterwards counts."""
    proxy: str | None = field(default=None, repr=False)
    """Through which its requests go, robots.txt included; empty for none."""
    robots: RobotsException | None = None
    login: Mapping[str, Any] | None = field(default=None, repr=False)
    """How to log in: see docs/login.md."""

    def over(self, under: Sheet) -> Sheet:
        """Both, where what this one says counts."""
        said: dict[str, Any] = {
            name: value for name in _SINGLE if (value := getattr(self, name)) is not None and value != ()
        }
        return replace(
            under, **said, headers={**under.headers, **self.headers}, cookies={**under.cookies, **self.cookies}
        )


_SINGLE: Final = tuple(one.name for one in fields(Sheet) if one.name not in {"hosts", "headers", "cookies"})
_NOTHING: Final = Sheet()


class Sheets:
    """The sheets of a crawl, in their order."""

    def __init__(self, sheets: Sequence[Sheet] = ()) -> None:
        self.all = tuple(sheets)
        self._named = frozenset(name for sheet in self.all for name in sheet.hosts)
        self.of = lru_cache(maxsize=KEPT)(self._of) if self.all else lambda _host: _NOTHING

    def __bool__(self) -> bool:
        return bool(self.all)

    def names(self, host: str) -> bool:
        """Whether a sheet names that very host: it has a record of its own, whatever its site has."""
        return host in self._named

    def _of(self, host: str) -> Sheet:
        """What is otherwise for the host of this name (`host:port`)."""
        found = _NOTHING
        for sheet in self.all:
            if any(names(pattern, host) for pattern in sheet.hosts):
                found = sheet.over(found)
        return found


def _undotted(host: str) -> str:
    """`example.com` for `example.com.`, the same name written out to its root (RFC 1034, section 3.1)."""
    name, colon, port = host.partition(":")
    return f"{name.removesuffix('.')}{colon}{port}"


def names(pattern: str, host: str) -> bool:
    """Whether `pattern`, of a sheet, names the host."""
    host = _undotted(host)
    if pattern.startswith("*."):
        return host.partition(":")[0].endswith(pattern[1:])
    return pattern in {"*", host}


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
    return star + _undotted(found)


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
