"""Errors of a download."""

from __future__ import annotations

from enum import StrEnum

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
