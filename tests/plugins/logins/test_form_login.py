"""What is sent for a form, to whom, and what is taken for a login that has worked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from email import message_from_bytes
from email.message import Message
from typing import Any, cast
from urllib.parse import parse_qs

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response

from sitecrawl.http.cookies import CookieStore
from sitecrawl.http.login import Login
from sitecrawl.plugins.logins.form_login import (
    _MAX_REDIRECTS,
    LoginFailed,
    Session,
    _form_body,
    _in_its_charset,
    log_in,
    text_of,
)

URL = "https://a.example/login"
FORM = (
    '<form method=post action="{to}"><input type=hidden name=csrf value=c1><input name=user value=you>'
    "<input type=PASSWORD name=pw><input type=checkbox name=stay><button name=go value=in>Go</button></form>"
)
Answers = Mapping[str, Callable[[Request], Response] | str | int]


def page(url: str, body: str = "<p>Welcome", status: int = 200, **headers: str) -> Response:
    return HtmlResponse(url, status=status, body=body.encode(), headers=headers)


def go(
    answers: Answers, asked: list[Request] | None = None, cookies: CookieStore | None = None, **login: Any
) -> None:
    """Log in where URLs have these answers: a page, a status, or what a function says."""

    async def ask(request: Request) -> Response:
        if asked is not None:
            asked.append(request)
        answer = answers[request.url]
        if isinstance(answer, int):
            return page(request.url, "", answer)
        return page(request.url, answer) if isinstance(answer, str) else answer(request)

    given = {"kind": "form", "url": URL, "fields": {"user": "me", "pw": "word"}, **login}
    asyncio.run(log_in(Session(Login.read(given)), ask, cookies if cookies is not None else CookieStore()))


def leads(to: str, status: int = 303) -> Callable[[Request], Response]:
    return lambda request: page(request.url, "", status, Location=to)


def test_what_is_sent() -> None:
    """The form's own fields go along with those of the sheet, to where the form says."""
    asked: list[Request] = []
    answers: Answers = {
        URL: FORM.format(to="/enter"),
        "https://a.example/enter": leads("/"),
        "https://a.example/": "",
    }
    go(answers, asked)
    assert [(one.method, one.url) for one in asked] == [
        ("GET", URL),
        ("POST", "https://a.example/enter"),
        ("GET", "https://a.example/"),
    ]
    assert parse_qs(asked[1].body.decode()) == {"csrf": ["c1"], "go": ["in"], "user": ["me"], "pw": ["word"]}
    assert all(one.meta["sitecrawl_login"] for one in asked)


def test_an_address_that_leads_to_https() -> None:
    """What is named by http may lead to the same host by https, and the form is sent there."""
    asked: list[Request] = []
    answers: Answers = {
        "http://a.example/login": leads(URL),
        URL: FORM.format(to="/enter"),
        "https://a.example/enter": "welcome",
    }
    go(answers, asked, url="http://a.example/login")
    assert asked[-1].url == "https://a.example/enter"


def test_in_parts() -> None:
    """A form that asks for `multipart/form-data` gets that."""
    asked: list[Request] = []
    form = FORM.format(to="/enter").replace("<form", "<form enctype='Multipart/Form-Data'")
    go({URL: form, "https://a.example/enter": "welcome"}, asked)
    sent = asked[1]
    kind = sent.headers["Content-Type"] or b""
    message = message_from_bytes(b"Content-Type: " + kind + b"\n\n" + sent.body)
    found = {str(part.get_param("name", header="content-disposition")): part.get_payload() for part in parts(message)}
    assert found == {"csrf": "c1", "go": "in", "user": "me", "pw": "word"}


def parts(message: Message) -> list[Message]:
    assert message.is_multipart()
    return cast(list[Message], message.get_payload())


@pytest.mark.parametrize(
    ("charset", "accepts", "sent"),
    [
        ("utf-8", "", "%E2%82%AC%E3%81%82"),
        ("shift_jis", "", "%26%238364%3B%82%A0"),
        ("iso-8859-1", "", "%80%26%2312354%3B"),
        ("iso-8859-1", "no-such utf-8", "%E2%82%AC%E3%81%82"),
        ("utf-16", "", "%E2%82%AC%E3%81%82"),
        ("rot13", "", "%80%26%2312354%3B"),
        ("idna", "", "%80%26%2312354%3B"),
    ],
)
def test_in_the_charset_of_the_page(charset: str, accepts: str, sent: str) -> None:
    """As a browser: what has no bytes there goes as a character reference, and not as a question mark."""
    asked: list[Request] = []
    form = FORM.format(to="/enter").replace("<form", f"<form accept-charset='{accepts}'" if accepts else "<form")
    body = form.encode("utf-16" if charset == "utf-16" else "ascii")

    def asking(request: Request) -> Response:
        return HtmlResponse(request.url, body=body, headers={"Content-Type": f"text/html; charset={charset}"})

    go({URL: asking, "https://a.example/enter": "welcome"}, asked, fields={"user": "me", "pw": "\u20ac\u3042"})
    assert f"pw={sent}" in asked[1].body.decode()


def test_the_form_that_has_the_fields() -> None:
    """Of several forms with a password the first with all fields of the sheet is sent, and not one to register."""
    other = FORM.format(to="/register").replace("name=user", "name=email")
    asked: list[Request] = []
    go({URL: other + FORM.format(to="/enter"), "https://a.example/enter": "welcome"}, asked)
    assert asked[1].url == "https://a.example/enter"


def test_an_address_with_the_password_in_it() -> None:
    """A site that puts what was sent into an address has that in no message."""
    with pytest.raises(LoginFailed) as caught:
        go(
            {
                URL: FORM.format(to="/x"),
                "https://a.example/x": leads("/no?pw=word#word"),
                "https://a.example/no?pw=word": 403,
            }
        )
    assert str(caught.value) == "https://a.example/no answers 403 Forbidden"


def test_the_form_that_is_named() -> None:
    """Of several forms with a password a selector chooses one."""
    forms = FORM.format(to="/register") + FORM.format(to="/enter").replace("<form", "<form id=in")
    asked: list[Request] = []
    go({URL: forms, "https://a.example/enter": "welcome"}, asked, form="form#in")
    assert asked[1].url == "https://a.example/enter"


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({URL: 401}, "https://a.example/login answers 401 Unauthorized"),
        ({URL: "<p>nothing"}, "no form that asks for a password at https://a.example/login"),
        (
            {URL: FORM.replace("name=user", "name=u").format(to="")},
            "has no field 'user': it has csrf, u, pw, stay, go",
        ),
        ({URL: FORM.format(to="https://evil.example/x")}, "sends to https://evil.example: nothing is sent there"),
        ({URL: FORM.format(to="http://a.example/x")}, "sends to http://a.example: nothing is sent there"),
        ({URL: FORM.format(to="https://a.example:444/x")}, "sends to https://a.example:444"),
        ({URL: FORM.replace("post", "get").format(to="/x")}, "would put the password into an address"),
        ({URL: FORM.format(to="/x"), "https://a.example/x": FORM}, "asks for a password again"),
        ({URL: FORM.format(to="/x"), "https://a.example/x": 403}, "answers 403 Forbidden"),
        (
            {URL: FORM.format(to="/x"), "https://a.example/x": leads("https://b.example/", 307)},
            "to be sent to another",
        ),
        ({URL: leads("mailto:a@a.example")}, "no address of the web"),
        ({URL: leads(URL)}, f"redirected more than {_MAX_REDIRECTS} times"),
        (
            {URL: leads("http://a.example/in"), "http://a.example/in": FORM.format(to="/in")},
            "stands at http://a.example: nothing is sent there",
        ),
        (
            {URL: leads("https://b.example/in"), "https://b.example/in": FORM.format(to="/in")},
            "stands at https://b.example: nothing is sent there",
        ),
    ],
)
def test_why_it_fails(answers: Answers, why: str) -> None:
    """Each way to fail has its words, and what was answered once would be answered again."""
    asked: list[Request] = []
    with pytest.raises(LoginFailed) as caught:
        go(answers, asked)
    assert why in str(caught.value)
    assert caught.value.lasts
    assert not any(
        "word" in one.url + one.body.decode() for one in asked if not one.url.startswith("https://a.example/")
    )


@pytest.mark.parametrize("status", [500, 503, 429])
def test_it_may_work_later(status: int) -> None:
    """A server that fails, or is asked too often, has not said no."""
    with pytest.raises(LoginFailed) as caught:
        go({URL: status})
    assert not caught.value.lasts


@pytest.mark.parametrize(
    ("success", "works"),
    [
        ("css:p.name", True),
        ("css:p.none", False),
        ("Hello, \\w+", True),
        ("Bye", False),
        ("cookie:sid", True),
        ("cookie:other", False),
    ],
)
def test_success(success: str, *, works: bool) -> None:
    """What the sheet says has to be there afterwards: an element, a text, or a cookie."""
    cookies = CookieStore()

    def enter(request: Request) -> Response:
        cookies.heard(request.url, [(b"Set-Cookie", b"sid=1; Path=/")])
        return page(request.url, "<p class=name>Hello, me<form><input type=password></form>")

    answers: Answers = {URL: FORM.format(to="/x"), "https://a.example/x": enter}
    if works:
        go(answers, cookies=cookies, success=success)
    else:
        with pytest.raises(LoginFailed, match="are name and password right"):
            go(answers, cookies=cookies, success=success)


def test_still_logged_in() -> None:
    """With cookies that are kept, a login page without a form says that nothing is to be done."""
    cookies = CookieStore()
    cookies.heard(URL, [(b"Set-Cookie", b"sid=1; Path=/")])
    asked: list[Request] = []
    go({URL: leads("/"), "https://a.example/": "<p>Welcome back"}, asked, cookies)
    assert [one.method for one in asked] == ["GET", "GET"]


def test_names_and_line_ends() -> None:
    """A name cannot end its header, and lines end as the standard says."""
    kind, body = _form_body([('a"b\r\nc', "one\ntwo\rthree\r\nfour")], "multipart/form-data", "utf-8")
    boundary = kind.partition("boundary=")[2]
    assert body.decode() == (
        f'--{boundary}\r\nContent-Disposition: form-data; name="a%22b%0D%0Ac"\r\n\r\n'
        f"one\r\ntwo\r\nthree\r\nfour\r\n--{boundary}--\r\n"
    )


def test_another_boundary_each_time() -> None:
    """A page that has read one form cannot know the next one's."""
    assert _form_body([], "multipart/form-data", "utf-8")[0] != _form_body([], "multipart/form-data", "utf-8")[0]


def test_in_one_line() -> None:
    """So it goes where the form says nothing, or something that there is not."""
    for enctype in ("", "application/json"):
        assert _form_body([("a", "x y"), ("b", "&")], enctype, "utf-8") == (
            "application/x-www-form-urlencoded",
            b"a=x+y&b=%26",
        )


@pytest.mark.parametrize(
    ("charset", "text"),
    [("utf-8", "é"), ("iso-8859-1", "Ã©"), ("idna", "é"), ("rot13", "é"), ("undefined", "é"), ("no-such", "é")],
)
def test_as_a_browser_reads_it(charset: str, text: str) -> None:
    """A codec of Python's that is no charset of the web is none, and without one what is valid UTF-8 is UTF-8."""
    page = HtmlResponse(
        "http://a.example/", body="é".encode(), headers={"Content-Type": f"text/html;charset={charset}"}
    )
    assert text_of(page) == _in_its_charset(page).text == text
