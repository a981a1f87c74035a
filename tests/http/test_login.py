"""What a sheet's login may say, and where its secrets are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.http.login import Login, LoginKind, exposed
from sitecrawl.http.written_sheets import read_sheets

FORM = {"kind": "form", "url": "https://a.example/login", "fields": {"user": "me", "password": "secret"}}


def test_a_whole_one() -> None:
    """All that a form may say is read, and the rest is as it is by default."""
    login = Login.read(
        {
            **FORM,
            "form": "form#login",
            "success": "cookie:sid",
            "logged_out": "expired",
            "required": False,
            "per_hour": 2,
        }
    )
    assert (login.kind, login.url, login.form) == (LoginKind.FORM, "https://a.example/login", "form#login")
    assert login.form_data() == {"user": "me", "password": "secret"}
    assert (login.success, login.logged_out, login.required, login.per_hour) == ("cookie:sid", "expired", False, 2)
    assert (login.over_http, login.over_any) == (False, False)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ({"kind": "bearer", "token": "abc"}, "Bearer abc"),
        ({"kind": "basic", "user": "me", "password": "ü:x"}, "Basic bWU6w7w6eA=="),
        (FORM, ""),
    ],
)
def test_the_header(given: dict[str, Any], value: str) -> None:
    """A token and a password go into `Authorization` as the RFCs have it."""
    assert Login.read(given).authorization() == value


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "kind is missing"),
        ({"kind": "from"}, "has to be one of form, bearer, basic, cookies"),
        ({"kind": "form", "url": "https://a.example/"}, "form takes 'fields', which is missing"),
        ({**FORM, "fields": ["user"]}, "fields is not of use, and has to be a table"),
        ({**FORM, "fields": {"user": 1}}, "user is not of use, and has to be a text"),
        ({**FORM, "url": "a.example/login"}, "has to begin with https:// or http://"),
        ({**FORM, "urll": "x"}, "there is no 'urll' here: is url meant"),
        ({**FORM, "token": "x"}, "form has no 'token'"),
        ({**FORM, "form": "form["}, "is no CSS selector"),
        ({**FORM, "success": "css:["}, "is no CSS selector"),
        ({**FORM, "logged_out": "("}, "is no regular expression"),
        ({**FORM, "required": "no"}, "has to be true or false"),
        ({**FORM, "per_hour": 0}, "has to be 1 or more"),
        ({"kind": "bearer", "token": "two\nlines"}, "token: it has more than one line"),
        ({"kind": "basic", "user": "me"}, "basic takes 'password'"),
        ({"kind": "cookies"}, "cookies takes 'file'"),
    ],
)
def test_what_is_wrong_is_said(given: dict[str, Any], message: str) -> None:
    """What cannot be a login is an error that names what is wrong, without any secret."""
    with pytest.raises(OptionError) as caught:
        read_sheets([{"hosts": ["a.example"], "login": given}], "here")
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_secrets_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret may stand in a file or in the environment, and whoever lacks it is told of which."""
    (tmp_path / "token").write_text("from-file\n")
    monkeypatch.setenv("MY_TOKEN", "from-environment")
    assert Login.read({"kind": "bearer", "token": f"@{tmp_path / 'token'}"}).authorization() == "Bearer from-file"
    assert Login.read({"kind": "bearer", "token": "env:MY_TOKEN"}).authorization() == "Bearer from-environment"
    for token, message in (
        ("@/no/file", "from the file '/no/file': No such file"),
        ("env:NONE", "environment as NONE"),
    ):
        with pytest.raises(OptionError, match=message):
            Login.read({"kind": "bearer", "token": token}).authorization()


def test_no_text_shows_a_secret() -> None:
    """Nothing of a login that is printed has its secrets."""
    for given in (FORM, {"kind": "basic", "user": "me", "password": "secret"}, {"kind": "bearer", "token": "secret"}):
        assert "secret" not in f"{Login.read(given)!r} {Login.read(given)}"


def test_a_secret_that_others_can_read(tmp_path: Path) -> None:
    """A file that has a secret in plain is told of if others may read it, and only then."""
    file = tmp_path / "job.yml"
    file.touch(0o644)
    assert "chmod 600" in (exposed(file, [Login.read(FORM)]) or "")
    assert exposed(file, [Login.read({**FORM, "fields": {"user": "me", "password": "@file"}})]) is None
    file.chmod(0o600)
    assert exposed(file, [Login.read(FORM)]) is None
    assert exposed(tmp_path / "none", [Login.read(FORM)]) is None
