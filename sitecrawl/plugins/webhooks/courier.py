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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sitecrawl import __version__, http
from sitecrawl.http import Client, Download, HttpError, Request
from sitecrawl.plugins.webhooks.hook import Event, Webhook

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
