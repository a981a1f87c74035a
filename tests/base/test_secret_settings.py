"""Secrets among settings and arguments: told by their names, and shown to nobody."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from pprint import pformat

import pytest

from sitecrawl.base.declared import SETTINGS
from sitecrawl.base.errors import OptionError
from sitecrawl.base.secret_settings import (
    HIDDEN_WORDS,
    NO_SECRETS,
    _is_secret,
    _masked_settings,
    hidden_options,
    mask_logs,
    masked,
    masked_url,
    parted,
    secret_in,
    some_secret_in,
)

SECRET = "5ec2e7"


@pytest.mark.parametrize(
    "name",
    [
        "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "FTP_PASSWORD", "HTTPAUTH_PASS", "MAIL_PASS", "MY_API_KEY",
        "TELNETCONSOLE_PASSWORD", "api-key", "password", "token", "SHOP_TOKENS", "X_AUTHORIZATION", "DB_PWD",
        "SITECRAWL_DASHBOARD_TOKEN", "SITECRAWL_WEBHOOKS", "SITECRAWL_REMOTE_OPTIONS", "REDIS_PARAMS",
    ],
)  # fmt: skip
def test_what_is_secret(name: str) -> None:
    """What is declared so, and what says so; on a command line, wherever it stands, it is masked."""
    assert _is_secret(name)
    for option in ("", "-s", "-a", "--set=", "--set"):
        assert SECRET not in masked(f"{option}{name}={SECRET}")
    assert masked(f"{name}=@/run/secret") == f"{name}=@/run/secret"


def test_what_is_not() -> None:
    """Keys of Redis, switches, and all of our settings that are not declared to be secrets."""
    assert {name for name in SETTINGS if _is_secret(name)} == {
        f"SITECRAWL_{name}" for name in ("DASHBOARD_TOKEN", "REMOTE_OPTIONS", "SHEETS", "WEBHOOKS")
    }
    for name in (*NO_SECRETS, "COOKIES_ENABLED", "KEYWORDS", "MONKEY", "seeds", "AUTHOR", "DOWNLOAD_DELAY"):
        assert not _is_secret(name)
    assert masked("-sDOWNLOAD_DELAY=1") == "-sDOWNLOAD_DELAY=1"
    assert masked(f"seeds=http://user:{SECRET}@a.example/") == "seeds=http://user:PASSWORD@a.example/"


@pytest.mark.parametrize(
    "text",
    [
        "http://a.example:8080/@x:y@z", "https://[::1]:99999/a@b", "a.example:99999", "a.example/x:y@z", "file:///x",
        "mailto:me@a.example", "javascript:alert(1)", "//a.example:80/x@y", "me@a.example",
        "http:\\\\a.example\\x:y@z",
    ],
)  # fmt: skip
def test_addresses_without_a_password(text: str) -> None:
    """What is no password stays as it is: ports, paths, and the names of those who get mail."""
    assert masked_url(text) == masked(f"seeds={text}").removeprefix("seeds=") == text


def test_several_addresses() -> None:
    """A password is masked in each of them, and nothing between them."""
    seeds = "seeds=http://a.example:80,ftp://u:{0}@b.example/@x,https:/\\u:{0}@{0}@c.example:1/ http://d.example/@x"
    shown = seeds.replace("{0}@{0}", "{0}").format("PASSWORD")
    assert masked(seeds.format(SECRET)) == shown


def test_what_scrapy_logs_of_feeds(caplog: pytest.LogCaptureFixture) -> None:
    """Where a feed goes is logged without its password, and a percent sign in it is one."""
    mask_logs()
    logging.getLogger("scrapy.extensions.feedexport").error(
        "Error storing %s", f"csv feed (3 items) in: ftp://u:{SECRET}@a.example/%d.csv"
    )
    assert caplog.messages == ["Error storing csv feed (3 items) in: ftp://u:PASSWORD@a.example/%d.csv"]


def test_a_command_line_in_two() -> None:
    """What is shown has no secret, and what is hidden comes to the process that is begun, once."""
    words = ["crawl", "x", "-s", f"FTP_PASSWORD={SECRET}", "-a", "seeds=a", "-a", f"token={SECRET}"]
    words += [f"--set=A_KEY={SECRET}", f"-sB_TOKEN={SECRET}", "--set", f"C_SECRET={SECRET}", "-s", "LOG_LEVEL=INFO"]
    shown, hidden = parted(words)
    assert shown == ["crawl", "x", "-a", "seeds=a", "-s", "LOG_LEVEL=INFO"]
    environment = {HIDDEN_WORDS: json.dumps(hidden), "HOME": "/"}
    settings = [f"{name}={SECRET}" for name in ("FTP_PASSWORD", "A_KEY", "B_TOKEN", "C_SECRET")]
    assert hidden_options(environment) == (settings, [f"token={SECRET}"])
    assert environment == {"HOME": "/"}
    assert hidden_options(environment) == ([], [])


def test_settings_that_are_logged() -> None:
    """Whatever is secret is left out, also where it takes several lines; the rest is as it was."""
    settings = {
        "BOT_NAME": "x",
        "FTP_PASSWORD": SECRET,
        "REDIS_PARAMS": {f"name{number}": f"{SECRET}{number}" * 3 for number in range(20)},
        "ITEM_PIPELINES": {f"a.very.long.path.of.a.pipeline.{number}": number for number in range(9)},
        "SITECRAWL_DATABASE_URL": f"mysql://user:{SECRET}@a.example/x",
        "Z_TOKEN": SECRET,
    }
    shown = _masked_settings(pformat(settings))
    assert SECRET not in shown
    kept = {**settings, "SITECRAWL_DATABASE_URL": "mysql://user:PASSWORD@a.example/x"}
    kept |= dict.fromkeys(("FTP_PASSWORD", "REDIS_PARAMS", "Z_TOKEN"), "(masked)")
    assert shown == pformat(kept)


def test_space_around_it_is_none_of_it(tmp_path: Path) -> None:
    """An editor ends a file with a line feed."""
    (tmp_path / "secret").write_text(" let me in\n")
    assert secret_in(str(tmp_path / "secret"), "X") == some_secret_in(str(tmp_path / "secret"), "X") == "let me in"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """A file that is not there, a folder, and what is no text."""
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name, why in (("nowhere", "No such file"), (".", "Is a directory"), ("bytes", "it is no text")):
        with pytest.raises(OptionError, match=rf"^X is to be read from the file '.*': {why}"):
            secret_in(str(tmp_path / name), "X")


def test_nothing(tmp_path: Path) -> None:
    """An empty file is an empty text, where that may be."""
    (tmp_path / "empty").write_text("\n")
    assert not secret_in(str(tmp_path / "empty"), "X")
    with pytest.raises(OptionError, match="it is empty"):
        some_secret_in(str(tmp_path / "empty"), "X")
