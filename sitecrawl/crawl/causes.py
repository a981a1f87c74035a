"""What keeps a crawl from a page, in plain words: one word for one thing, wherever it is counted or told."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

FAILURES: Final = {
    "BadAnswer": "no proper HTTP",
    "CannotResolveHostError": "host not found",
    "CertificateExpired": "certificate expired",
    "CertificateForAnotherName": "certificate for another name",
    "CertificateSelfSigned": "certificate self-signed",
    "CertificateUntrusted": "certificate of an unknown authority",
    "Challenge": "asks for a proof that a browser is there",
    "DownloadCancelledError": "too large",
    "DownloadConnectionRefusedError": "connection refused",
    "DownloadFailedError": "connection lost",
    "DownloadTimeoutError": "timed out",
    "HeadersTooLarge": "too large",
    "IdleTimeout": "timed out",
    "LoginRefused": "login refused",
    "LoginWall": "asks for a login",
    "NoTls": "no TLS",
    "ResponseDataLossError": "cut short",
    "TooLargeDecoded": "unpacks to more than DOWNLOAD_MAXSIZE, as a decompression bomb does",
    "TooManyChunks": "too large",
    "TooManyHeaders": "too large",
    "Unread": "broke its reader",
    "UnsupportedURLSchemeError": "no web address",
}
"""What a download, or its answer, ends with, by the name of the exception."""
NO_FAILURES: Final = frozenset({"HostGivenUp", "IgnoreRequest", "Interrupted", "PrivateAddress", "Unreachable"})
"""Exceptions by which a middleware says no: nothing went wrong."""
REDIRECTS: Final = "redirects that end nowhere"
OUT_OF_SCOPE: Final = "redirects out of scope"
_RULES: Final = {"robots.txt": "robots.txt forbids it", "private address": "a private address, which no seed names"}
_OF_HOSTS: Final = ("host not found", "connection refused", "no TLS", "certificate ")
"""Failures that are the same whatever is asked for."""


def of_exception(name: str) -> str:
    """What the exception of that name says; empty for one that says no more than is known."""
    return "" if name in NO_FAILURES else FAILURES.get(name, name)


def of_status(status: int) -> str:
    """What an answer with `status` says of its host, which is no page."""
    try:
        return f"answers {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"answers {status}"


def of_rule(rule: str) -> str:
    """Why `rule` forbids a URL."""
    return _RULES.get(rule, rule)


def of_robots(why: str) -> str:
    """Why a host may not be crawled that could not be asked for its robots.txt: `why` it could not, if one knows."""
    if not why or why.startswith(_OF_HOSTS):
        return why
    return f"robots.txt {why if why.startswith('answers') else f'does not come ({why})'}, so nothing may be asked for"
