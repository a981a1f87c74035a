"""How a crawl logs in at the hosts of a sheet: what the sheet says, checked.

Four ways, and what they take:

- `form`: `url`, the page with the form; `fields`, what to write into it by their names. `form` is a CSS selector for
  the form where the page has several with a password.
- `bearer`: `token`, sent in `Authorization` (RFC 6750, section 2.1).
- `basic`: `user` and `password`, sent in the same (RFC 7617).
- `cookies`: `file`, those of somebody who has logged in in a browser, as cookies.txt (Netscape's format).

A secret stands in a file that it names after an `@`, or in the environment (`env:NAME`), and nowhere else by
preference: `exposed` says where one stands for others to read.
"""

from __future__ import annotations

import os
import re
import stat
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

from sitecrawl.base.errors import OptionError, meant
from sitecrawl.base.secret_settings import some_secret_in
from sitecrawl.urls.url import parse, target_of

COOKIE: Final = "cookie:"
"""Before the name of a cookie, which is there when the login has worked."""
CSS: Final = "css:"
"""Before a selector for what the page after the login has."""
_LOGIN_PAGE: Final = "login page"
LOGOUT: Final = "logout link"
"""Reasons for `Fetch.exclude`."""
_FILE: Final = "@"
_ENVIRONMENT: Final = "env:"
_LOGOUT: Final = re.compile(
    r"""(?:/|[?&;](?:[^=&;]*=)?)        # all of a folder or file of the path, or a parameter or its value
        (?:(?:user|users|account|member|members|session|admin|wp|do|auth)[-_]?)?
        (?:log|sign)[-_]?(?:out|off)
        (?:\.[a-z]{2,5})?(?=[/?&;\#=]|$)""",
    re.IGNORECASE | re.VERBOSE,
)


class LoginKind(StrEnum):
    """A way to log in."""

    FORM = "form"
    BEARER = "bearer"
    BASIC = "basic"
    COOKIES = "cookies"


_NEEDS: Final[Mapping[LoginKind, frozenset[str]]] = {
    LoginKind.FORM: frozenset({"url", "fields"}),
    LoginKind.BEARER: frozenset({"token"}),
    LoginKind.BASIC: frozenset({"user", "password"}),
    LoginKind.COOKIES: frozenset({"file"}),
}
_OF_ALL: Final = frozenset({"kind", "logged_out", "required", "over_http", "per_hour"})
_ALSO: Final[Mapping[LoginKind, frozenset[str]]] = {
    LoginKind.FORM: frozenset({"form", "success"}),
    LoginKind.COOKIES: frozenset({"url"}),
}


@dataclass(frozen=True, slots=True)
class _Secret:
    """A secret: given as it is, as `@FILE` or as `env:NAME`. Its `repr` does not show it."""

    given: str = field(default="", repr=False)

    @property
    def is_plain(self) -> bool:
        """Whether the value itself was given, and not a file or variable."""
        return not self.given.startswith((_FILE, _ENVIRONMENT))

    def read(self, what: str) -> str:
        """The secret; `what` names it in the `OptionError` that says why it cannot be had."""
        if self.given.startswith(_FILE):
            return some_secret_in(self.given.removeprefix(_FILE), f"The {what} of the login")
        if self.given.startswith(_ENVIRONMENT):
            name = self.given.removeprefix(_ENVIRONMENT)
            if not os.environ.get(name):
                raise OptionError(f"The {what} of the login is to be in the environment as {name}: there it is not")
            return os.environ[name]
        return self.given


@dataclass(frozen=True, slots=True)
class Login:
    """See the module. Make it with `Login.read`."""

    kind: LoginKind
    url: str = ""
    """The page with the form; of cookies, the page to which the site leads whoever is logged out."""
    fields: tuple[tuple[str, _Secret], ...] = ()
    form: str = ""
    """A CSS selector; empty for the form that asks for a password."""
    success: str = ""
    """How to tell that the form was taken: `cookie:NAME`, `css:SELECTOR`, or a regular expression for the page that
    comes then. Empty: that page is no error, and asks for no password."""
    logged_out: str = ""
    """A regular expression for pages that say that nobody is logged in, besides the form on a page."""
    token: _Secret = _Secret()
    user: _Secret = _Secret()
    password: _Secret = _Secret()
    file: str = ""
    required: bool = True
    """Whether pages are left alone where the login fails, instead of being fetched logged out."""
    over_http: bool = False
    """Whether what lets the crawl in may be sent over plain http, where anybody on the way can read it. A form at an
    http address says so by itself."""
    per_hour: int = 5
    """Logins in an hour at the most, over all hosts of the sheet."""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Self:
        """What a sheet's `login` says, which the schema has found sound. Raises `OptionError` for what is of another
        kind; files and the environment are looked at later.
        """
        kind = LoginKind(given["kind"])
        _check_names(given, kind)
        secrets = {name: _Secret(given[name]) for name in ("token", "user", "password") if name in given}
        entries = tuple((name, _Secret(value)) for name, value in given.get("fields", {}).items())
        return cls(**{**given, **secrets, "kind": kind, "fields": entries})

    @property
    def over_any(self) -> bool:
        """Whether it may be used over plain http."""
        return self.over_http or (self.kind is LoginKind.FORM and urlsplit(self.url).scheme == "http")

    @property
    def has_session(self) -> bool:
        """Whether it stands in cookies, so that it can come to an end."""
        return self.kind in {LoginKind.FORM, LoginKind.COOKIES}

    def authorization(self) -> str:
        """The value of the header `Authorization`; empty where cookies let the crawl in. Raises `OptionError`."""
        if self.kind is LoginKind.BEARER:
            return f"Bearer {_line(self.token.read('token'), 'token')}"
        if self.kind is LoginKind.BASIC:
            pair = f"{self.user.read('user')}:{self.password.read('password')}"
            return f"Basic {b64encode(pair.encode()).decode()}"
        return ""

    def form_data(self) -> dict[str, str]:
        """What goes into the form. Raises `OptionError`."""
        return {name: value.read(f"field {name!r}") for name, value in self.fields}

    def covers(self, url: str) -> bool:
        """Whether it may be used for `url`: what was made for TLS is sent over nothing else."""
        return url.startswith("https://") or self.over_any

    def forbids(self, url: str) -> str:
        """The rule by which the crawl, being logged in, asks for no such URL; empty for none."""
        if not self.has_session:
            return ""
        if self.is_login_page(url):
            return _LOGIN_PAGE
        return LOGOUT if _LOGOUT.search(target_of(url)) else ""

    def is_login_page(self, url: str) -> bool:
        """Whether the form is there. A site's front page is a page, whatever form it has."""
        page = _place_of(self.url) if self.url else ""
        return bool(page) and not page.endswith("/") and _place_of(url) == page

    @property
    def plain(self) -> list[str]:
        """The names of the secrets that stand in the sheet itself. Who logs in is none, nor is any other field of a
        form whose name does not say so.
        """
        named = [("token", self.token), ("password", self.password), *self.fields]
        return [name for name, value in named if value.given and value.is_plain and _is_secret(name)]


def beside(given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A sheet's `login` with the files that it names below `folder`."""

    def placed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: placed(one) for name, one in value.items()}
        is_file = isinstance(value, str) and value.startswith(_FILE)
        return f"{_FILE}{folder / value.removeprefix(_FILE)}" if is_file else value

    file = {"file": str(folder / given["file"])} if "file" in given else {}
    return {**placed(given), **file}


def exposed(path: Path, logins: Iterable[Login]) -> str | None:
    """What to say of a file at `path` that has secrets of `logins` in it, and that others may read; else None."""
    names = sorted({name for login in logins for name in login.plain})
    try:
        mode = path.stat().st_mode
    except OSError:
        return None
    if not names or not mode & (stat.S_IRGRP | stat.S_IROTH):
        return None
    return (
        f"{path} has a secret in it ({', '.join(names)}), and others here can read it: chmod 600 it, or name a file "
        "(@FILE) or a variable (env:NAME) instead"
    )


def _place_of(url: str) -> str:
    """URL without scheme and query."""
    return parse(url).href.partition("?")[0].partition("://")[2]


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in ("pass", "pw", "secret", "token", "key", "pin", "code"))


def _check_names(given: Mapping[str, Any], kind: LoginKind) -> None:
    known = _NEEDS[kind] | _ALSO.get(kind, frozenset()) | _OF_ALL
    for name in given:
        if name not in known:
            hint = meant(str(name), known) or f": it has {', '.join(sorted(known))}"
            raise OptionError(f"login: {kind} has no {name!r}{hint}")
    for name in sorted(_NEEDS[kind]):
        if not given.get(name):
            raise OptionError(f"login: {kind} takes {name!r}, which is missing")


def _line(text: str, name: str) -> str:
    if not text.isprintable():
        raise OptionError(f"login: {name} has more than one line, or what no header may hold")
    return text
