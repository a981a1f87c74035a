"""Letters, and who brings them to one webhook: in order, a few times each, and never so that the crawl waits.

A letter is one JSON object (docs/alerts.md has the schema), with the headers of https://www.standardwebhooks.com.

An answer of 2xx ends it. What a later attempt can mend (no answer, 408, 425, 429, 5xx) is tried again; a redirect is
not followed, for it would take what is told to another place than the one that was named.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

from sitecrawl import __version__, http
from sitecrawl.base.errors import InvalidUrl, OptionError, meant
from sitecrawl.http import Client, Download, Endpoint, HttpError, Request
from sitecrawl.urls.url import parse

logger = logging.getLogger(__name__)

_ATTEMPT_SECONDS: Final = 10.0
"""For one attempt, from the name's look-up to the end of the answer."""
_PAUSES: Final = (1.0, 5.0, 25.0)
"""Seconds between attempts: of these there is one more."""
_MAX_WAITING: Final = 100
"""Letters that wait for one webhook; of more, the oldest are dropped."""
_MAX_ANSWER: Final = 65_536
"""Bytes of an answer that are read, for its connection to end in peace: nothing in it matters but its status."""

_SENT: Final = "webhooks/sent"
FAILED: Final = "webhooks/failed"
_DROPPED: Final = "webhooks/dropped"

_SCHEMA: Final = 1
"""Raised when a field goes, or means something else; not when one comes."""
_NAME: Final = "SITECRAWL_WEBHOOKS"
_ENCODED: Final = "whsec_"
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Letter:
    """One event, as all that want to hear of it get it, however often it has to be sent."""

    event: Event
    at: float
    """Unix time, in seconds."""
    fields: Mapping[str, Any]
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    """By which a receiver knows what it has had before."""

    @property
    def body(self) -> bytes:
        time = datetime.fromtimestamp(self.at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        head = {"schema": _SCHEMA, "id": self.id, "event": self.event, "time": time, "sitecrawl": __version__}
        return json.dumps({**head, **self.fields}).encode()

    def headers(self, body: bytes, secret: bytes) -> list[tuple[bytes, bytes]]:
        """Headers of an attempt that is made now, signed if there is a `secret`."""
        now = str(int(time.time()))
        told = {"webhook-id": self.id, "webhook-timestamp": now, "Content-Type": "application/json"}
        if secret:
            digest = hmac.digest(secret, f"{self.id}.{now}.".encode() + body, hashlib.sha256)
            told["webhook-signature"] = f"v1,{base64.b64encode(digest).decode()}"
        told["User-Agent"] = f"sitecrawl/{__version__}"
        return [(name.encode(), value.encode()) for name, value in told.items()]


class Courier:
    """`counted` is called with the statistic that has one more. `pauses` and `seconds`: see `_PAUSES` and
    `_ATTEMPT_SECONDS`.
    """

    def __init__(
        self,
        hook: Webhook,
        client: Client,
        counted: Callable[[str], None],
        *,
        pauses: Sequence[float] = _PAUSES,
        seconds: float = _ATTEMPT_SECONDS,
    ) -> None:
        self.hook = hook
        self._client = client
        self._counted = counted
        self._pauses = pauses
        self._seconds = seconds
        self._waiting: deque[Letter] = deque()
        self._task: asyncio.Task[None] | None = None
        """None while there is nothing to bring."""
        self._closing = asyncio.Event()
        self._has_failed = False
        """Whether the last letter did not arrive: the next that does not is no news."""

    def put(self, letter: Letter) -> None:
        """Bring it, if the webhook wants to hear of it. Inside the event loop."""
        if letter.event not in self.hook.events:
            return
        if letter.event is Event.HEARTBEAT and any(one.event is Event.HEARTBEAT for one in self._waiting):
            return  # who could not be told that it lives needs to hear the last of it only
        while len(self._waiting) >= _MAX_WAITING:
            self._waiting.popleft()
            self._counted(_DROPPED)
        self._waiting.append(letter)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._bring_all())

    async def close(self, seconds: float) -> None:
        """Bring what waits, within so many `seconds`; what is not brought then is lost."""
        self._closing.set()
        if self._task is None or self._task.done():
            return
        await asyncio.wait([self._task], timeout=seconds)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
            self._lose("it did not answer before the crawl's end", 1 + len(self._waiting))

    async def _bring_all(self) -> None:
        while self._waiting:
            letter = self._waiting.popleft()
            if letter.event is Event.HEARTBEAT and self._closing.is_set():
                continue
            try:
                await self._bring(letter)
            except Exception:
                logger.exception("The webhook %s could not be told of %s", self.hook, letter.event)
                self._counted(FAILED)

    async def _bring(self, letter: Letter) -> None:
        why = ""
        for pause in (*self._pauses, None):
            why, is_passing = await self._post(letter)
            if not why:
                self._counted(_SENT)
                self._has_failed = False
                return
            if not is_passing or pause is None:
                break
            await self._pause(pause)
        self._lose(why, 1, letter.event)

    async def _pause(self, seconds: float) -> None:
        """Wait `seconds`, or less when the crawl ends."""
        if not self._closing.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._closing.wait(), seconds)
        else:
            await asyncio.sleep(min(seconds, self._pauses[0]))

    def _lose(self, why: str, letters: int, what: str = "") -> None:
        for _ in range(letters):
            self._counted(FAILED)
        if not self._has_failed:
            logger.warning("The webhook %s was not told%s: %s", self.hook, f" of {what}" if what else "", why)
        self._has_failed = True

    async def _post(self, letter: Letter) -> tuple[str, bool]:
        """Why it did not arrive, empty if it did; and whether it may the next time."""
        hook, body = self.hook, letter.body
        request = Request("POST", hook.target, hook.host, hook.endpoint, letter.headers(body, hook.secret), body)
        download = Download(self._client, request)
        late = HttpError(f"nothing came within {self._seconds:g} seconds")
        alarm = asyncio.get_running_loop().call_later(self._seconds, download.end, late)
        try:
            await download.run(max_size=_MAX_ANSWER)
        except http.BadCertificate as error:
            return str(error), False
        except HttpError as error:
            if download.reader is None or not download.reader.has_head:
                return str(error), True
        finally:
            alarm.cancel()
        assert download.reader is not None
        return _verdict(download.reader.status)


_PASSING: Final = frozenset({408, 425, 429})


def _verdict(status: int) -> tuple[str, bool]:
    if 200 <= status < 300:
        return "", False
    if 300 <= status < 400:
        return f"it answers {status}, and redirects are not followed: name the address to which it leads", False
    return f"it answers {status}", status >= 500 or status in _PASSING


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
