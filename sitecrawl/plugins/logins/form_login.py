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

import secrets
from collections.abc import Awaitable, Callable, Iterable, KeysView, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from parsel import Selector
from scrapy import Request
from scrapy.http import Response, TextResponse
from scrapy.http.request import NO_CALLBACK

from sitecrawl.base.display import printable, without_query
from sitecrawl.base.errors import InvalidUrl
from sitecrawl.base.patterns import MatchTime, compiled
from sitecrawl.crawl.causes import of_status
from sitecrawl.crawl.requests import LOGIN
from sitecrawl.http.cookies import CookieStore
from sitecrawl.http.login import COOKIE, CSS
from sitecrawl.page.budget import within
from sitecrawl.page.charset import of_body, of_label
from sitecrawl.page.media_type import declared_type
from sitecrawl.page.refusals import has_password
from sitecrawl.plugins.logins.sessions import LoginFailed, Session
from sitecrawl.urls.url import Url, parse

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
