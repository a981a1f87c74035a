"""What is sent: one JSON object, its headers, and the signature (docs/alerts.md has the schema)."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sitecrawl import __version__
from sitecrawl.plugins.webhooks.hook import Event

SCHEMA: Final = 1
"""Raised when a field goes, or means something else; not when one comes."""
SIGNATURE: Final = "Sitecrawl-Signature"


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
        head = {"schema": SCHEMA, "id": self.id, "event": self.event, "time": time, "sitecrawl": __version__}
        return json.dumps({**head, **self.fields}).encode()

    def headers(self, body: bytes, secret: bytes, now: float) -> list[tuple[bytes, bytes]]:
        """Those of an attempt at the Unix time `now`, signed if there is a `secret`."""
        plain = {
            "Content-Type": "application/json",
            "User-Agent": f"sitecrawl/{__version__}",
            "Sitecrawl-Event": self.event,
            "Sitecrawl-Delivery": self.id,
        }
        if secret:
            plain[SIGNATURE] = signature(secret, int(now), body)
        return [(name.encode(), value.encode()) for name, value in plain.items()]


def signature(secret: bytes, now: int, body: bytes) -> str:
    """The time, and the HMAC-SHA256 of time, dot and body: who replays it later shows an old time."""
    digest = hmac.new(secret, b"%d.%b" % (now, body), hashlib.sha256).hexdigest()
    return f"t={now},v1={digest}"
