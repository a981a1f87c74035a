"""Errors of a download, also those by which another task ends it."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from typing import Any

from sitecrawl.base.errors import SitecrawlError
from sitecrawl.base.limits import AnyLimit
from sitecrawl.http.blame import Want


class HttpError(SitecrawlError):
    """A download without a complete response."""


class UnknownHost(HttpError):
    """A name that leads to no address."""


class Unresolved(HttpError):
    """A name without an answer of any name server. `stated`: the system says so itself."""

    def __init__(self, message: str, *, stated: bool) -> None:
        super().__init__(message)
        self.stated = stated


class NotAnswered(HttpError):
    """A name whose own name servers are silent, while others answer."""


class Lacking(HttpError):
    """Not the host's fault: this machine or its network lacks `want`."""

    def __init__(self, want: Want, message: str) -> None:
        super().__init__(message)
        self.want = want


class ConnectionFailed(HttpError):
    """No address of a host, or its proxy, could be connected to."""


class Fault(StrEnum):
    """Faults of certificates, in words."""

    EXPIRED = "expired"
    NOT_YET = "not yet valid"
    OTHER_NAME = "for another name"
    SELF_SIGNED = "self-signed"
    UNKNOWN = "of an unknown authority"
    OTHER = "not valid"


class BadCertificate(HttpError):
    """A host with an invalid certificate; `fault` says why, in words."""

    def __init__(self, fault: Fault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


class ConnectionLost(HttpError):
    """A connection that ended before the response had begun."""


class Truncated(HttpError):
    """A body that ended too early; the reader has what came."""


class BadResponse(HttpError):
    """Bytes that are no HTTP response."""


class OverLimit(HttpError):
    """A response that exceeded `limit`."""

    def __init__(self, limit: AnyLimit, message: str) -> None:
        super().__init__(message)
        self.limit = limit


class Enough(HttpError):
    """No error: the listener wants no more of this response."""


class Ending:
    """The ending of one download, which waits for one future at a time: another task can end the wait with an error.

    (A cancelled task could only guess the reason.)
    """

    __slots__ = ("_waits_for", "error")

    def __init__(self) -> None:
        self._waits_for: asyncio.Future[Any] | None = None
        self.error: Exception | None = None
        """The error that ended it."""

    def end(self, error: Exception) -> bool:
        """Raise `error` in the current or next wait; False if it was ended before with another."""
        if self.error is not None:
            return False
        self.error = error
        if self._waits_for is not None:
            self._waits_for.cancel()
        return True

    async def wait(self, future: asyncio.Future[Any]) -> Any:
        """Wait for `future`. Raises its error, or that of `end`."""
        if self.error is not None:
            if not future.cancel():
                future.exception()  # asyncio complains of an error that nobody has looked at
            raise self.error
        self._waits_for = future
        try:
            return await future
        except asyncio.CancelledError:
            if self.error is not None:
                raise self.error from None
            future.cancel()
            raise
        finally:
            self._waits_for = None
