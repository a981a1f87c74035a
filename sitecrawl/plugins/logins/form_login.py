"""Logging in by a form: its page is fetched, filled in as a browser would, sent, and what comes is looked at.

What stands in the form already is sent along, so that hidden fields against forged requests are what they should be.
A password goes to the host that the sheet names and to no other, wherever that leads, and never from https to http.
No message has the query of an address: a site may have put there what it was sent.

The entries of a form go as a browser sends them (HTML standard, section 4.10.21, "form submission"): in the charset
that the form accepts, else the page's; what has no bytes there goes as a character reference. A form says by its
`enctype` whether they go in one line, or in parts.

Pages are decoded in the charset that a browser would take. Scrapy accepts any Python codec, so a page that declares
`idna` or `rot13` would have an error instead of text.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, KeysView, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode
from weakref import WeakKeyDictionary

from parsel import Selector
from scrapy import Request
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK

from sitecrawl.base.display import printable, without_query
from sitecrawl.base.errors import InvalidUrl, SitecrawlError
from sitecrawl.base.patterns import MatchTime, compiled
from sitecrawl.crawl.requests import LOGIN
from sitecrawl.crawl.traffic import of_status
from sitecrawl.http.cookies import CookieStore
from sitecrawl.http.login import COOKIE, CSS, Login, LoginKind
from sitecrawl.page.budget import within
from sitecrawl.page.charset import of_body, of_label
from sitecrawl.page.media_type import declared_type
from sitecrawl.page.refusals import has_password
from sitecrawl.urls.url import Url, parse

_HOUR: Final = 3600.0
_IN_A_ROW: Final = 3
"""Pages in a row that say that nobody is logged in, after which a login that cannot be done anew is over."""
_FIELDS_LOOKED_AT: Final = 1 << 16
"""Bytes of a page in which the login form is looked for."""
_MAX_REDIRECTS: Final = 10
_ASKING: Final = "//form[.//input[translate(@type, 'PASWORD', 'pasword') = 'password']]"
_BUTTON: Final = (
    ".//input[translate(@type, 'SUBMIT', 'submit') = 'submit'] | .//button[not(@type) or @type = 'submit']"
)
_META: Final[Mapping[str, Any]] = {
    LOGIN: True,
    "dont_obey_robotstxt": True,
    "dont_redirect": True,
    "dont_retry": True,
    "dont_cache": True,
}
_NOT_NOW: Final = frozenset({408, 425, 429})
_AS_IT_WAS: Final = frozenset({307, 308})
"""Redirects that ask for what was sent to be sent again (RFC 9110, section 15.4)."""

Ask = Callable[[Request], Awaitable[Response]]


class LoginFailed(SitecrawlError):
    """A login that did not work; its message says why. It `lasts` where trying again would bring the same."""

    def __init__(self, reason: str, *, lasts: bool = True) -> None:
        super().__init__(reason)
        self.lasts = lasts


class Session:
    """See the module. `clock` gives monotonic seconds. Raises `OptionError` for secrets that cannot be had."""

    def __init__(self, login: Login, clock: Callable[[], float] = time.monotonic) -> None:
        self.login = login
        self.form_data = login.form_data()
        self.failure: LoginFailed | None = None
        """Why the crawl is not logged in; None before the first attempt, and while it is."""
        self.generation = 0
        """Logins that have worked."""
        self.sent_by: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        """The generation by which requests were sent that are under way."""
        self._is_in = login.kind is not LoginKind.FORM
        self._clock = clock
        self._times: deque[float] = deque(maxlen=login.per_hour)
        self._lock = asyncio.Lock()
        self._in_a_row = 0
        self._works = False
        """Whether a page has come since the last login."""
        self._pattern = compiled(login.logged_out) if login.logged_out else None
        self._fields = [_field(name) for name, _ in login.fields]

    async def enter(self, log_in: Callable[[], Awaitable[None]]) -> None:
        """Be logged in, by `log_in` where need be: once, whoever else waits for it. Raises `LoginFailed`."""
        async with self._lock:
            if self._is_in:
                return
            self._check()
            self._times.append(self._clock())
            try:
                await log_in()
            except LoginFailed as error:
                self.failure = error
                raise
            self._is_in, self.failure, self._works = True, None, False
            self.generation += 1

    def _check(self) -> None:
        if self.failure is not None and self.failure.lasts:
            raise LoginFailed(str(self.failure))
        if len(self._times) == self.login.per_hour and self._clock() - self._times[0] < _HOUR:
            why = self.failure or "it was logged out each time"
            raise LoginFailed(f"it has tried {self.login.per_hour} times within an hour: {why}", lasts=False)

    def says_out(self, status: int, body: bytes, text: Callable[[], str]) -> bool:
        """Whether an answer shows that the crawl is not logged in. `body` and `text` are of HTML, or empty."""
        if status == 401:
            return True
        if not 200 <= status < 300 or not body:
            return False
        if self._fields and has_password(body) and self._has_form(body[:_FIELDS_LOOKED_AT]):
            return True
        return self._pattern is not None and MatchTime().search(self._pattern, text()) is True

    def _has_form(self, body: bytes) -> bool:
        """Whether a page has the login form: all its fields, since other forms ask for a password, too."""
        return all(pattern.search(body) is not None for pattern in self._fields)

    def was_in(self) -> None:
        """A page came that is one."""
        self._in_a_row = 0
        self._works = True

    def needless(self, logins: int) -> None:
        """So many logins were made for a page that says the same with and without. They do not count, where other
        pages show that the last has worked.
        """
        for _ in range(min(logins, len(self._times)) if self._works else 0):
            self._times.pop()

    def was_out(self, request: Request) -> bool:
        """The answer to `request` shows that nobody is logged in; gives whether a login can change that."""
        if self.login.kind is LoginKind.FORM:
            if self.sent_by.get(request) == self.generation:  # else it was sent before the last login
                self._is_in = False
            return True
        self._in_a_row += 1
        if self._in_a_row >= _IN_A_ROW and self.failure is None:
            what = {LoginKind.COOKIES: "cookies", LoginKind.BEARER: "token", LoginKind.BASIC: "password"}[
                self.login.kind
            ]
            self.failure = LoginFailed(f"{_IN_A_ROW} pages in a row do not take the {what}")
        return False


def _field(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"""\bname\s*=\s*["']?""" + re.escape(name.encode()) + rb"""(?=["'\s/>])""", re.IGNORECASE)


async def log_in(session: Session, ask: Ask, cookies: CookieStore) -> None:
    """Raises `LoginFailed`, and what `ask` raises."""
    login = session.login
    was_known = bool(cookies.header(login.url))
    page = await _followed(Request(login.url, callback=NO_CALLBACK, dont_filter=True, meta=dict(_META)), ask)
    form = _form(page, login.form, session.form_data)
    if form is None and was_known and _why_not(session, page, cookies) is None:
        return  # by the cookies that were kept
    if form is None:
        what = f"no form that matches {login.form!r}" if login.form else "no form that asks for a password"
        raise LoginFailed(f"there is {what} at {_shown(page.url)}")
    answer = await _followed(_filled_in(session, page, form), ask)
    if (why := _why_not(session, answer, cookies)) is not None:
        raise LoginFailed(why)


async def _followed(request: Request, ask: Ask) -> Response:
    """The answer behind all redirects."""
    for _ in range(_MAX_REDIRECTS):
        response = await ask(request)
        location = response.headers.get("Location")
        if not 300 <= response.status < 400 or location is None:
            return _checked(response)
        if response.status in _AS_IT_WAS and request.method != "GET":
            raise LoginFailed("the answer to the form asks for it to be sent to another address")
        try:
            target = parse(location.decode("latin-1").strip(), request.url).href
        except InvalidUrl:
            raise LoginFailed("it is redirected to what is no address of the web") from None
        request = Request(target, callback=NO_CALLBACK, dont_filter=True, meta=dict(_META))
    raise LoginFailed(f"it is redirected more than {_MAX_REDIRECTS} times")


def _checked(response: Response) -> Response:
    if response.status >= 400:
        lasts = response.status < 500 and response.status not in _NOT_NOW
        raise LoginFailed(f"{_shown(response.url)} {of_status(response.status)}", lasts=lasts)
    return _in_its_charset(response) if isinstance(response, TextResponse) else response


def _form(page: Response, selector: str, wanted: Iterable[str]) -> Selector | None:
    """The form at `selector`; without a selector the first with a password field and all `wanted` fields, else the
    first with a password field.
    """
    if not isinstance(page, TextResponse):
        return None
    found = [one for one in (page.css(selector) if selector else page.xpath(_ASKING)) if one.root.tag == "form"]
    return next((one for one in found if selector or _names(one) >= {*wanted}), next(iter(found), None))


def _names(form: Selector) -> KeysView[str]:
    """Names of the form's fields, each once, in order."""
    return dict.fromkeys(form.css("[name]").xpath("@name").getall()).keys()


def _filled_in(session: Session, page: Response, form: Selector) -> Request:
    """The request by which a browser would send the form (HTML standard, "form submission")."""
    assert isinstance(page, TextResponse)
    names = _names(form)
    for name in session.form_data:
        if name not in names:
            has = printable(", ".join(names), 200)
            raise LoginFailed(f"the form at {_shown(page.url)} has no field {name!r}: it has {has}")
    target = _target(session.login.url, page, form)
    given = [
        (name, value) for name, value in [*form.root.form_values(), *_clicked(form)] if name not in session.form_data
    ]
    charset = _sending_charset(form.attrib.get("accept-charset", ""), page.encoding)
    kind, body = _form_body([*given, *session.form_data.items()], form.attrib.get("enctype", ""), charset)
    return Request(
        target,
        method="POST",
        headers={"Content-Type": kind, "Referer": page.url},
        body=body,
        callback=NO_CALLBACK,
        dont_filter=True,
        meta=dict(_META),
    )


def _target(named: str, page: TextResponse, form: Selector) -> str:
    """Where the form is to be sent; a `LoginFailed` if that is where no password is to go: `named` is the address
    that a person knows, and a site may lead from there to any other.
    """
    at = f"the form at {_shown(page.url)}"
    try:
        target = parse(page.urljoin((form.attrib.get("action") or page.url).strip()), page.url)
    except (InvalidUrl, ValueError):
        raise LoginFailed(f"{at} sends to what is no address of the web") from None
    if not _may_have_it(named, here := parse(page.url)):
        raise LoginFailed(f"{_shown(named)} leads to a form that stands at {_host(here)}: nothing is sent there")
    if not _may_have_it(here.href, target):
        raise LoginFailed(f"{at} sends to {_host(target)}: nothing is sent there")
    if form.attrib.get("method", "").strip().lower() != "post":
        raise LoginFailed(f"{at} would put the password into an address")
    return target.href


def _may_have_it(known: str, to: Url) -> bool:
    """Whether a password for `known` may be sent to another address."""
    before = parse(known)
    return before.host == to.host and (before.scheme != "https" or to.scheme == "https")


def _host(url: Url) -> str:
    return printable(url.origin, 200)


def _shown(url: str) -> str:
    """An address for a message, without its query, which may hold what was sent."""
    return printable(without_query(url), 200)


def _clicked(form: Selector) -> list[tuple[str, str]]:
    """Fields that the first submit button adds."""
    button = next(iter(form.xpath(_BUTTON)), None)
    name = button.attrib.get("name") if button is not None else None
    return [(name, button.attrib.get("value", ""))] if button is not None and name else []


def _why_not(session: Session, answer: Response, cookies: CookieStore) -> str | None:
    """Why `answer` does not look as if the crawl was logged in now."""
    wanted = session.login.success
    if wanted.startswith(COOKIE):
        name = wanted.removeprefix(COOKIE)
        return None if cookies.has(answer.url, name) else f"no cookie {name!r} was set: are name and password right?"
    if wanted:
        return None if _has(answer, wanted) else f"the page that came has no {wanted!r}: are name and password right?"
    return "the page that came asks for a password again: is it right?" if has_password(answer.body) else None


def _has(answer: Response, wanted: str) -> bool:
    if not isinstance(answer, TextResponse):
        return False
    if wanted.startswith(CSS):
        return bool(answer.css(wanted.removeprefix(CSS)))
    return MatchTime().search(compiled(wanted), answer.text) is True


_IN_PARTS: Final = "multipart/form-data"
_Entries = Sequence[tuple[str, str]]
"""Names and values, in their order."""
_REFERENCE: Final = "xmlcharrefreplace"


def _form_body(entries: _Entries, enctype: str, charset: str) -> tuple[str, bytes]:
    """The Content-Type and the body, for what a form says of its `enctype`."""
    lines = [(_crlf(name), _crlf(value)) for name, value in entries]
    if enctype.strip().lower() == _IN_PARTS:
        return _in_parts(lines, charset)
    return "application/x-www-form-urlencoded", urlencode(lines, encoding=charset, errors=_REFERENCE).encode()


def _sending_charset(accepted: str, of_page: str) -> str:
    """The first known charset that a form accepts, else its page's; UTF-8 in place of UTF-16."""
    known = (of_label(label) for label in accepted.split())
    charset = next((one for one in known if one), None) or of_label(of_page) or "utf-8"
    return "utf-8" if charset.startswith("utf-16") else charset


def _in_parts(entries: _Entries, charset: str) -> tuple[str, bytes]:
    """RFC 7578. The boundary is in no value: nobody can guess it."""
    boundary = secrets.token_hex(24)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{_in_quotes(name)}"\r\n\r\n{value}\r\n'
        for name, value in entries
    ]
    body = "".join([*parts, f"--{boundary}--\r\n"]).encode(charset, _REFERENCE)
    return f"{_IN_PARTS}; boundary={boundary}", body


def _in_quotes(name: str) -> str:
    return name.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def _crlf(text: str) -> str:
    return "\r\n".join(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def _charset_of(response: Response) -> str:
    kinds = [value.decode("latin-1") for value in response.headers.getlist("Content-Type")]
    return of_body(response.body, declared_type(kinds).charset)


def text_of(response: Response) -> str:
    return response.body.decode(_charset_of(response), "replace")


def _in_its_charset(response: TextResponse) -> TextResponse:
    """The response, decoded in its charset and cut at the limit for reading."""
    return response.replace(body=within(response.body), encoding=_charset_of(response))
