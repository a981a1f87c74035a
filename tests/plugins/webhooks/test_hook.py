"""The setting SITECRAWL_WEBHOOKS: what is taken, and what is said of the rest."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from sitecrawl.base.errors import OptionError
from sitecrawl.crawl.configuration import revealed
from sitecrawl.http import Endpoint
from sitecrawl.plugins.webhooks.courier import _NEWS, Event, read_hooks

read = partial(read_hooks, reveal=partial(revealed, name="SITECRAWL_WEBHOOKS"))


def test_urls_with_commas() -> None:
    """As they are typed on a command line."""
    one, two = read("http://127.0.0.1:8000/a?b=c, https://example.com")
    assert (one.endpoint, one.host, one.target) == (Endpoint(False, "127.0.0.1", 8000), "127.0.0.1:8000", "/a?b=c")
    assert (two.endpoint, two.target) == (Endpoint(True, "example.com", 443), "/")
    assert one.events == _NEWS
    assert Event.HEARTBEAT not in _NEWS


def test_a_name_outside_of_ascii_and_an_address_of_ipv6() -> None:
    """They are connected to as a browser would."""
    one, two = read(["http://bücher.example/", "http://[::1]:81/"])
    assert one.endpoint.host == "xn--bcher-kva.example"
    assert (two.endpoint.host, two.endpoint.port, two.host) == ("::1", 81, "[::1]:81")


@pytest.mark.parametrize("as_text", [True, False])
def test_mappings(as_text: bool) -> None:
    """In settings.py, or as JSON on the command line: with events and a secret."""
    given = [{"url": "http://h/", "events": ["end", "heartbeat"], "secret": "s"}]
    (hook,) = read(json.dumps(given) if as_text else given)
    assert hook.events == {Event.END, Event.HEARTBEAT}
    assert hook.secret == b"s"


def test_files(tmp_path: Path) -> None:
    """URL and secret may be in files, which nobody sees on a command line."""
    (tmp_path / "url").write_text("https://hooks.example/T0/secret\n")
    (tmp_path / "key").write_text("k\n")
    (hook,) = read({"url": f"@{tmp_path}/url", "secret": f"@{tmp_path}/key"})
    assert (hook.target, hook.secret) == ("/T0/secret", b"k")


def test_nothing_secret_is_shown() -> None:
    """The path of a chat's webhook is all that is needed to write there."""
    (hook,) = read({"url": "https://hooks.example/T0/hidden?x=hidden", "secret": "hidden"})
    assert "hidden" not in f"{hook} {hook!r}"
    assert str(hook) == "https://hooks.example/..."


@pytest.mark.parametrize("setting", [None, "", [], ()])
def test_none(setting: object) -> None:
    """Without any nobody is told."""
    assert read(setting) == ()


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("ftp://example.com/hidden", "no http(s) URL"),
        ("hidden", "no http(s) URL"),
        (7, "not int"),
        ([7], "url has to be text"),
        ([{}], "no http(s) URL"),
        ("[{", "begins as JSON"),
        ({"url": "http://h/", "event": ["end"]}, "is events meant?"),
        ({"url": "http://h/", "events": ["begin"]}, "a list of start, end"),
        ({"url": "http://h/", "events": []}, "a list of start, end"),
        ({"url": "http://h/", "events": {"end": 1}}, "a list of start, end"),
        ({"url": "http://h/", "secret": "whsec_hidden!"}, "is no base64"),
        ({"url": "http://h/", "secret": 7}, "secret has to be text"),
        ({"url": "@/no/such/file"}, "No such file"),
        ("http://user:hidden@h/", "user name"),
    ],
)
def test_of_no_use(setting: object, says: str) -> None:
    """One line says what is wrong, and nothing that may be a secret."""
    with pytest.raises(OptionError) as caught:
        read(setting)
    assert says in str(caught.value)
    assert "hidden" not in str(caught.value)
