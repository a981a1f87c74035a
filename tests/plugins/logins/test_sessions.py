"""When a login is made, how often, and what shows that it is over."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from scrapy import Request

from sitecrawl.http.login import _LOGIN_PAGE, LOGOUT, Login
from sitecrawl.plugins.logins.form_login import _HOUR, _IN_A_ROW, LoginFailed, Session

ROOT = "https://a.example"
FIELDS = {"user": "me", "pw": "word"}
FORM = b'<form><input name="user"><input type=password name=pw></form>'


def session(now: list[float] | None = None, **given: Any) -> Session:
    clock = now if now is not None else [0.0]
    login = {"kind": "form", "url": f"{ROOT}/in", "fields": FIELDS, **given}
    return Session(Login.read(login), lambda: clock[0])


class Site:
    """Lets in, or fails as often as it is told to."""

    def __init__(self, *failures: LoginFailed) -> None:
        self.failures = list(failures)
        self.asked = 0

    async def __call__(self) -> None:
        self.asked += 1
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop()


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/logout", LOGOUT),
        ("/LogOut.php", LOGOUT),
        ("/users/sign_out", LOGOUT),
        ("/en/log-off/", LOGOUT),
        ("/index.php?action=logout", LOGOUT),
        ("/index.php?logout&next=/", LOGOUT),
        ("/?do=user_logout#x", LOGOUT),
        ("/wp-logout.php", LOGOUT),
        ("/in", _LOGIN_PAGE),
        ("/in?next=/a", _LOGIN_PAGE),
        ("/inn", ""),
        ("/how-to-logout-safely", ""),
        ("/blog/logout-buttons", ""),
        ("/signoutside", ""),
        ("/blogout", ""),
        ("/?q=logouts", ""),
        ("/", ""),
    ],
)
def test_what_is_left_alone(path: str, rule: str) -> None:
    """Where a session would end, and where it begins; not what only has such a word in it."""
    assert session().login.forbids(ROOT + path) == rule


def test_a_front_page_with_a_form_is_a_page() -> None:
    """A site whose login form is on its front page has that crawled."""
    assert session(url=f"{ROOT}/").login.forbids(f"{ROOT}/") == ""


def test_a_token_has_no_session() -> None:
    """Who sends a token with each request may ask for what logs others out."""
    one = Session(Login.read({"kind": "bearer", "token": "t"}))
    assert one.login.forbids(f"{ROOT}/logout") == ""


def test_once_for_all() -> None:
    """All that wait for a login get the same one."""

    async def run() -> int:
        one, site = session(), Site()
        await asyncio.gather(*(one.enter(site) for _ in range(5)))
        assert one.generation == 1
        return site.asked

    assert asyncio.run(run()) == 1


def test_a_failure_that_lasts_is_not_tried_again() -> None:
    """A wrong password is sent once; one that need not last is tried again."""

    async def run(*, lasts: bool) -> int:
        one, site = session(), Site(LoginFailed("no", lasts=lasts))
        for _ in range(3):
            with suppress(LoginFailed):
                await one.enter(site)
        return site.asked

    assert asyncio.run(run(lasts=True)) == 1
    assert asyncio.run(run(lasts=False)) == 2


def test_so_many_an_hour() -> None:
    """Beyond `per_hour` there is no login, until the hour is over."""

    async def run() -> None:
        now = [0.0]
        one, site = session(now, per_hour=2), Site()
        for _ in range(2):
            await one.enter(site)
            assert one.was_out(sent(one))
        with pytest.raises(LoginFailed, match="tried 2 times within an hour") as caught:
            await one.enter(site)
        assert not caught.value.lasts
        now[0] += _HOUR
        await one.enter(site)

    asyncio.run(run())


def test_why_there_were_so_many() -> None:
    """Who has tried too often says what came of it: the last failure, or a session that ended each time."""

    async def run(site: Site) -> str:
        one = session(per_hour=2)
        for _ in range(2):
            with suppress(LoginFailed):
                await one.enter(site)
                one.was_out(sent(one))
        with pytest.raises(LoginFailed) as caught:
            await one.enter(site)
        return str(caught.value)

    down = Site(*(LoginFailed("it answers 503", lasts=False) for _ in range(2)))
    assert asyncio.run(run(down)) == "it has tried 2 times within an hour: it answers 503"
    assert asyncio.run(run(Site())) == "it has tried 2 times within an hour: it was logged out each time"


def sent(one: Session) -> Request:
    """A request that was sent by the login that holds now."""
    request = Request(ROOT)
    one.sent_by[request] = one.generation
    return request


def test_an_answer_of_an_older_session() -> None:
    """A page that was asked for before the last login does not end it."""

    async def run() -> int:
        one, site = session(), Site()
        await one.enter(site)
        old, older = sent(one), sent(one)
        assert one.was_out(old)
        await one.enter(site)
        assert one.was_out(older)
        await one.enter(site)
        return site.asked

    assert asyncio.run(run()) == 2


def test_a_page_that_always_says_so_costs_no_logins() -> None:
    """Logins for a page that shows the form to everybody do not count, where other pages come."""

    async def run(*, others_come: bool) -> None:
        one, site = session(per_hour=4), Site()
        await one.enter(site)
        for _ in range(5):
            one.was_out(sent(one))
            await one.enter(site)
            if others_come:
                one.was_in()
            one.needless(1)

    asyncio.run(run(others_come=True))
    with pytest.raises(LoginFailed, match="tried 4 times"):
        asyncio.run(run(others_come=False))


@pytest.mark.parametrize(
    ("status", "body", "is_out"),
    [
        (401, b"", True),
        (403, FORM, False),
        (200, FORM, True),
        (200, b"<p>hello", False),
        (200, b"<form><input type=password name=pw><input type=password name=again></form>", False),
        (200, b"<p>Your session has expired", True),
        (404, b"<p>Your session has expired", False),
    ],
)
def test_what_shows_it(status: int, body: bytes, *, is_out: bool) -> None:
    """401, a form with all fields of the login, or the sheet's expression; not any form that asks for a password."""
    one = session(logged_out="session has expired")
    assert one.says_out(status, body, body.decode) is is_out


def test_cookies_that_are_over() -> None:
    """What cannot be done anew has failed when several pages in a row say so, and not when one does."""
    one = Session(Login.read({"kind": "cookies", "file": "x"}))
    for _ in range(2):
        for _ in range(_IN_A_ROW - 1):
            assert not one.was_out(Request(ROOT))
        assert one.failure is None
        one.was_in()
    for _ in range(_IN_A_ROW):
        one.was_out(Request(ROOT))
    assert one.failure is not None
    assert one.failure.lasts
