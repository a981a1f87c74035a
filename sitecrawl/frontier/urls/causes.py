"""Why an attempt to fetch a URL brought nothing: one byte of its record, and one word for it wherever it is told."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class Cause(IntEnum):
    """The numbers are stored (docs/formats/database.md)."""

    NONE = 0
    ROBOTS = 1
    PRIVATE_ADDRESS = 2
    NO_ROBOTS = 3
    """Its host's robots.txt cannot be had, and so nothing is asked for."""
    UNKNOWN_HOST = 4
    REFUSED = 5
    SILENT = 6
    """No answer in time."""
    LOST = 7
    """The connection ended before there was an answer."""
    CUT_SHORT = 8
    NO_HTTP = 9
    TOO_LARGE = 10
    """It, its headers, or the number of either's parts: docs/limits.md."""
    BOMB = 11
    """Unpacked, it would be too large."""
    CHALLENGE = 12
    LOGIN_WALL = 13
    LOGIN_REFUSED = 14
    NO_TLS = 15
    CERTIFICATE_EXPIRED = 16
    CERTIFICATE_OF_ANOTHER = 17
    CERTIFICATE_SELF_SIGNED = 18
    CERTIFICATE_UNTRUSTED = 19
    UNREAD = 20
    """What came broke its reader."""
    NO_ADDRESS = 21
    """There is no way to ask for such a URL."""
    GIVEN_UP = 22
    """It was not asked for: its host never answered when others were."""
    OTHER = 23
    LOGIN_PAGE = 25
    LOGOUT = 26
    SLOW = 27
    """Hardly anything came, or nothing for many times as long as is usual for its host."""


WORDS: Final[Mapping[Cause, str]] = {
    Cause.ROBOTS: "robots.txt forbids it",
    Cause.PRIVATE_ADDRESS: "a private address, which no seed names",
    Cause.NO_ROBOTS: "its host's robots.txt cannot be had",
    Cause.UNKNOWN_HOST: "host not found",
    Cause.REFUSED: "connection refused",
    Cause.SILENT: "timed out",
    Cause.LOST: "connection lost",
    Cause.CUT_SHORT: "cut short",
    Cause.NO_HTTP: "no proper HTTP",
    Cause.TOO_LARGE: "too large",
    Cause.BOMB: "unpacks to more than DOWNLOAD_MAXSIZE, as a decompression bomb does",
    Cause.CHALLENGE: "asks for a proof that a browser is there",
    Cause.LOGIN_WALL: "asks for a login",
    Cause.LOGIN_REFUSED: "login refused",
    Cause.NO_TLS: "no TLS",
    Cause.CERTIFICATE_EXPIRED: "certificate expired",
    Cause.CERTIFICATE_OF_ANOTHER: "certificate for another name",
    Cause.CERTIFICATE_SELF_SIGNED: "certificate self-signed",
    Cause.CERTIFICATE_UNTRUSTED: "certificate of an unknown authority",
    Cause.UNREAD: "broke its reader",
    Cause.NO_ADDRESS: "no web address",
    Cause.GIVEN_UP: "its host never answered",
    Cause.OTHER: "an error that the log has",
    Cause.LOGIN_PAGE: "it is where the crawl logs in",
    Cause.LOGOUT: "it looks like a link that would log the crawl out",
    Cause.SLOW: "comes too slowly",
}
OF_ERRORS: Final[Mapping[str, Cause]] = {
    "BadAnswer": Cause.NO_HTTP,
    "CannotResolveHostError": Cause.UNKNOWN_HOST,
    "CertificateExpired": Cause.CERTIFICATE_EXPIRED,
    "CertificateForAnotherName": Cause.CERTIFICATE_OF_ANOTHER,
    "CertificateSelfSigned": Cause.CERTIFICATE_SELF_SIGNED,
    "CertificateUntrusted": Cause.CERTIFICATE_UNTRUSTED,
    "Challenge": Cause.CHALLENGE,
    "ConnectionRefusedError": Cause.REFUSED,
    "DNSLookupError": Cause.UNKNOWN_HOST,
    "DownloadCancelledError": Cause.TOO_LARGE,
    "DownloadConnectionRefusedError": Cause.REFUSED,
    "DownloadFailedError": Cause.LOST,
    "DownloadTimeoutError": Cause.SILENT,
    "HeadersTooLarge": Cause.TOO_LARGE,
    "HostGivenUp": Cause.GIVEN_UP,
    "IdleTimeout": Cause.SILENT,
    "LoggedOut": Cause.LOGIN_WALL,
    "LoginFailed": Cause.LOGIN_REFUSED,
    "LoginRefused": Cause.LOGIN_REFUSED,
    "LoginWall": Cause.LOGIN_WALL,
    "NoTls": Cause.NO_TLS,
    "PrivateAddress": Cause.PRIVATE_ADDRESS,
    "ResponseDataLossError": Cause.CUT_SHORT,
    "ResponseFailed": Cause.LOST,
    "ResponseNeverReceived": Cause.LOST,
    "TimeoutError": Cause.SILENT,
    "TooLargeDecoded": Cause.BOMB,
    "NothingYet": Cause.SLOW,
    "PutOff": Cause.SLOW,
    "TooSlow": Cause.SLOW,
    "TooManyChunks": Cause.TOO_LARGE,
    "TooManyHeaders": Cause.TOO_LARGE,
    "Unreachable": Cause.NO_ROBOTS,
    "Unread": Cause.UNREAD,
    "UnsupportedURLSchemeError": Cause.NO_ADDRESS,
}
"""By the name of the exception that ended a download, or the reading of what came."""
OF_HOSTS: Final = frozenset(
    {
        Cause.UNKNOWN_HOST,
        Cause.REFUSED,
        Cause.NO_TLS,
        Cause.CERTIFICATE_EXPIRED,
        Cause.CERTIFICATE_OF_ANOTHER,
        Cause.CERTIFICATE_SELF_SIGNED,
        Cause.CERTIFICATE_UNTRUSTED,
    }
)
"""Those that are the same whatever a host is asked for."""
OF_RULES: Final[Mapping[str, Cause]] = {
    "robots.txt": Cause.ROBOTS,
    "private address": Cause.PRIVATE_ADDRESS,
    "login page": Cause.LOGIN_PAGE,
    "logout link": Cause.LOGOUT,
}


def cause_of(error: str, rule: str = "") -> Cause:
    """For the name of an error's class, or else the rule that excludes a URL; `NONE` without either."""
    if error:
        return OF_ERRORS.get(error, Cause.OTHER)
    return OF_RULES.get(rule, Cause.OTHER) if rule else Cause.NONE


def words_of(number: int) -> str:
    """What a record's byte says; empty for nothing."""
    return WORDS[Cause(number)] if number in Cause.__members__.values() and number else ""
