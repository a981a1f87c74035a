"""Who is told of what: the setting SITECRAWL_WEBHOOKS, read."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

from sitecrawl.base.errors import InvalidUrl, OptionError, meant
from sitecrawl.http import Endpoint
from sitecrawl.urls.url import parse

_NAME: Final = "SITECRAWL_WEBHOOKS"
_ENCODED: Final = "whsec_"
_PORTS: Final = {"http": 80, "https": 443}


class Event(StrEnum):
    """Events of a crawl (docs/alerts.md)."""

    START = "start"
    END = "end"
    STALL = "stall"
    RESUMED = "resumed"
    """Something is fetched again, after a stall."""
    ERRORS = "errors"
    RECOVERED = "recovered"
    """There are few errors again."""
    HEARTBEAT = "heartbeat"


_NEWS: Final = frozenset(Event) - {Event.HEARTBEAT}
"""What is told to who does not say what they want to hear."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """One address, and what it is told of. The address may be a secret itself, so it is in no message."""

    endpoint: Endpoint
    host: str
    """As it stands in the Host header."""
    target: str = field(repr=False)
    """Path and query."""
    events: frozenset[Event] = _NEWS
    secret: bytes = field(default=b"", repr=False)
    """With which what is sent is signed; empty for no signature."""

    def __str__(self) -> str:
        """The hook for messages, without its secrets."""
        return f"{'https' if self.endpoint.secure else 'http'}://{self.host}/..."


_Reveal = Callable[[str], str]
"""Gives a text, or what is in the file that it names after an `@`. Raises `OptionError`."""


def read_hooks(setting: object, reveal: _Reveal) -> tuple[Webhook, ...]:
    """Those of the setting: URLs, or mappings with `url`, `events` and `secret`. On a command line these are URLs
    with commas between them, or JSON. Raises `OptionError`.
    """
    return tuple(_read_one(one, reveal) for one in _listed(setting))


def _listed(setting: object) -> Iterable[object]:
    if isinstance(setting, str):
        text = setting.strip()
        if not text.startswith(("[", "{")):
            return [part for part in (part.strip() for part in text.split(",")) if part]
        try:
            setting = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise OptionError(f"{_NAME} begins as JSON and is none: {error}") from error
    if isinstance(setting, Mapping):
        return [setting]
    if isinstance(setting, list | tuple):
        return setting
    if setting is None:
        return ()
    raise OptionError(
        f"{_NAME} has to be a list of URLs, or of mappings with a url, and not {type(setting).__name__}"
    )


def _read_one(one: object, reveal: _Reveal) -> Webhook:
    given: Mapping[Any, Any] = one if isinstance(one, Mapping) else {"url": one}
    if unknown := [str(name) for name in given if name not in _FIELDS]:
        hint = meant(unknown[0], _FIELDS) or f"; there are {', '.join(_FIELDS)}"
        raise OptionError(f"{_NAME}: there is no {unknown[0][:100]!r}{hint}")
    url, secret = (_text(given, name, reveal) for name in ("url", "secret"))
    try:
        parts = urlsplit(parse(url).href)
    except InvalidUrl:  # which says the URL: it may be a secret
        raise OptionError(f"{_NAME}: what is given as url is no http(s) URL") from None
    if "@" in urlsplit(url).netloc:
        raise OptionError(
            f"{_NAME}: the URL of {parts.netloc} has a user name, which is not sent: sign with a secret"
        )
    return Webhook(
        Endpoint(parts.scheme == "https", parts.hostname or "", parts.port or _PORTS[parts.scheme]),
        parts.netloc,
        f"{parts.path}?{parts.query}" if parts.query else parts.path,
        _events(given.get("events", sorted(_NEWS))),
        _key(secret),
    )


_FIELDS: Final = ("url", "events", "secret")


def _text(given: Mapping[Any, Any], name: str, reveal: _Reveal) -> str:
    value = given.get(name, "")
    if not isinstance(value, str):
        raise OptionError(f"{_NAME}: {name} has to be text, and not {type(value).__name__}")
    return reveal(value)


def _key(secret: str) -> bytes:
    """A secret that begins so is base64, as the standard has it; any other is taken as it stands."""
    if not secret.startswith(_ENCODED):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_ENCODED), validate=True)
    except ValueError:
        raise OptionError(f"{_NAME}: a secret begins with {_ENCODED}, and is no base64") from None


def _events(names: object) -> frozenset[Event]:
    known = [*Event]
    if not isinstance(names, list | tuple) or not names or any(name not in known for name in names):
        raise OptionError(f"{_NAME}: events has to be a list of {', '.join(known)}")
    return frozenset(Event(name) for name in names)
