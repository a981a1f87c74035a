"""Errors of downloads without a response, in the form that Scrapy, its retries and our middlewares know."""

from __future__ import annotations

from itertools import chain
from ssl import SSLError
from typing import Final, Protocol

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
)

from sitecrawl import http
from sitecrawl.base import limits
from sitecrawl.base.limits import AnyLimit


class LimitExceeded(IgnoreRequest):
    """A response that exceeded a limit of docs/limits.md. A retry would bring the same."""


class Interrupted(IgnoreRequest):
    """A download cut off because the crawl stops: its URL stays in the frontier."""


class InWant(DownloadFailedError):
    """A download that failed because this machine or its network lacks something."""

    def __init__(self, want: http.Want, message: str) -> None:
        super().__init__(message)
        self.want = want


class TooManyHeaders(LimitExceeded):
    """More header lines than `limits.HEADERS`."""


class HeadersTooLarge(LimitExceeded):
    """More bytes of headers than `limits.HEADER_SIZE`."""


class TooManyChunks(LimitExceeded):
    """A body in more pieces than `limits.CHUNKS`."""


class PrivateAddress(LimitExceeded):
    """A host with a private address that no seed names, either by the address or by a name that is not public
    (SITECRAWL_ALLOW_PRIVATE).
    """

    def __init__(self, url: str, address: str) -> None:
        super().__init__(f"{address} is no public address, and no seed names it, or a name of its network")
        self.url = url
        """URL of the request; after a redirect, its target."""


class LoginRefused(DownloadFailedError):
    """An FTP server that rejects the login of FTP_USER."""


class NoTls(DownloadFailedError):
    """A host without a working TLS connection."""


class CertificateExpired(DownloadFailedError):
    """A host whose certificate has expired, or is not valid yet."""


class CertificateForAnotherName(DownloadFailedError):
    """A host with a certificate for another name."""


class CertificateSelfSigned(DownloadFailedError):
    """A host with a self-signed certificate."""


class CertificateUntrusted(DownloadFailedError):
    """A host with a certificate of an unknown authority, or invalid for another reason."""


class BadAnswer(DownloadFailedError):
    """An answer that is no HTTP."""


class IdleTimeout(DownloadTimeoutError):
    """A host that was silent for SITECRAWL_MAX_IDLE_TIME."""


class PutOff(DownloadTimeoutError):
    """An answer slower than 100 bytes a second; its URL is asked for again."""


class NothingYet(PutOff):
    """An answer that takes many times as long as usual for its host; its URL is asked for again."""


class TooSlow(LimitExceeded):
    """A too slow answer on the last attempt."""


_BEYOND: Final[dict[AnyLimit, type[Exception]]] = {
    limits.HEADERS: TooManyHeaders,
    limits.HEADER_SIZE: HeadersTooLarge,
    limits.CHUNKS: TooManyChunks,
    limits.PRIVATE_ADDRESS: PrivateAddress,
    limits.IDLE_TIME: IdleTimeout,
    limits.RATE: TooSlow,
    limits.TOTAL_TIME: DownloadTimeoutError,
    limits.BODY_SIZE: DownloadCancelledError,
}
"""Scrapy's exception by limit."""
STATS: Final = {error: limit.stat for limit, error in _BEYOND.items()} | {
    PutOff: limits.RATE.stat,
    NothingYet: "frontier/put_off",
}


class _Blamed(Protocol):
    """A download that has failed."""

    async def lacks(self, error: Exception) -> http.Want | None:
        """Want that caused `error`; None if the host is to blame."""


async def excuse(error: Exception, download: _Blamed) -> None:
    """Raise `InWant` if `error` is not the host's fault."""
    if (want := await download.lacks(error)) is not None:
        raise InWant(want, str(error)) from error


def for_scrapy(error: http.HttpError) -> Exception:
    """Scrapy's exception for `error`."""
    if isinstance(error, http.OverLimit):
        return _BEYOND[error.limit](str(error))
    if isinstance(error, http.BadCertificate):
        return _OF_CERTIFICATES.get(error.fault, CertificateUntrusted)(str(error))
    kinds = (raised for known, raised in _OF_ERRORS.items() if isinstance(error, known))
    causes = (raised for known, raised in _OF_CAUSES.items() if isinstance(error.__cause__, known))
    return next(chain(kinds, causes), DownloadFailedError)(f"{error}{_help_for(error.__cause__)}")


def _help_for(cause: BaseException | None) -> str:
    """Setting that helps if TLS is too weak or too old for OpenSSL's defaults; else empty."""
    reason = (cause.reason or "") if isinstance(cause, SSLError) else ""
    return next((f"; {setting} {HELPS}" for word, setting in _HELPS.items() if word in reason), "")


HELPS: Final = "lets the crawl in"
"""Advice in messages about settings that avoid the error."""
_WEAK: Final = "DOWNLOADER_CLIENT_TLS_CIPHERS=DEFAULT:@SECLEVEL=0"
_OLD: Final = "DOWNLOAD_TLS_MIN_VERSION=TLSv1.0 with " + _WEAK
_HELPS: Final = {
    **dict.fromkeys(("UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION", "NO_PROTOCOLS"), _OLD),
    **dict.fromkeys(("TOO_SMALL", "TOO_WEAK", "NO_CIPHERS", "SIGALG", "SIGNATURE_TYPE"), _WEAK),
    **dict.fromkeys(("HANDSHAKE_FAILURE", "INSUFFICIENT_SECURITY", "BAD_DH"), _WEAK),
}
"""Settings by words in OpenSSL's reasons."""
_OF_CERTIFICATES: Final[dict[str, type[Exception]]] = {
    http.Fault.EXPIRED: CertificateExpired,
    http.Fault.NOT_YET: CertificateExpired,
    http.Fault.OTHER_NAME: CertificateForAnotherName,
    http.Fault.SELF_SIGNED: CertificateSelfSigned,
}
_OF_ERRORS: Final[dict[type[Exception], type[Exception]]] = {
    http.UnknownHost: CannotResolveHostError,
    http.NotAnswered: CannotResolveHostError,
    http.Unresolved: CannotResolveHostError,
    http.BadResponse: BadAnswer,
}
_OF_CAUSES: Final[dict[type[Exception], type[Exception]]] = {
    ConnectionRefusedError: DownloadConnectionRefusedError,
    TimeoutError: IdleTimeout,
    SSLError: NoTls,
}
