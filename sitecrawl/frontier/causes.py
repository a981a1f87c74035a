"""Why an attempt to fetch a URL brought nothing: one byte of its record."""

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
    BROKEN = 7
    """What came was no answer, or broke off."""
    TOO_LARGE = 8
    LIMIT = 9
    """Another limit of docs/limits.md."""
    CHALLENGE = 10
    GIVEN_UP = 11
    """It was not asked for: its host never answered when others were."""
    LOGIN = 12
    """The server lets nobody in."""
    OTHER = 13


WORDS: Final[Mapping[Cause, str]] = {
    Cause.ROBOTS: "robots.txt forbids it",
    Cause.PRIVATE_ADDRESS: "its host is at a private address, and no seed names it",
    Cause.NO_ROBOTS: "the robots.txt of its host cannot be had",
    Cause.UNKNOWN_HOST: "there is no such host",
    Cause.REFUSED: "its host refused the connection",
    Cause.SILENT: "its host did not answer in time",
    Cause.BROKEN: "what came was no whole answer",
    Cause.TOO_LARGE: "it is larger than the crawl takes",
    Cause.LIMIT: "it went beyond a limit",
    Cause.CHALLENGE: "its host asks for a proof that a browser or a person is there",
    Cause.GIVEN_UP: "its host never answered",
    Cause.LOGIN: "its server lets nobody in by that name",
    Cause.OTHER: "nothing came, for a reason that only the log has",
}
"""As the rest of a sentence."""

_OF_ERRORS: Final[Mapping[str, Cause]] = {
    "Unreachable": Cause.NO_ROBOTS,
    "CannotResolveHostError": Cause.UNKNOWN_HOST,
    "DNSLookupError": Cause.UNKNOWN_HOST,
    "DownloadConnectionRefusedError": Cause.REFUSED,
    "ConnectionRefusedError": Cause.REFUSED,
    "DownloadTimeoutError": Cause.SILENT,
    "IdleTimeout": Cause.SILENT,
    "TimeoutError": Cause.SILENT,
    "DownloadFailedError": Cause.BROKEN,
    "ResponseDataLossError": Cause.BROKEN,
    "ResponseFailed": Cause.BROKEN,
    "ResponseNeverReceived": Cause.BROKEN,
    "DownloadCancelledError": Cause.TOO_LARGE,
    "TooLargeDecoded": Cause.TOO_LARGE,
    "TooManyHeaders": Cause.LIMIT,
    "HeadersTooLarge": Cause.LIMIT,
    "TooManyChunks": Cause.LIMIT,
    "PrivateAddress": Cause.PRIVATE_ADDRESS,
    "Challenge": Cause.CHALLENGE,
    "HostGivenUp": Cause.GIVEN_UP,
    "LoginRefused": Cause.LOGIN,
}
_OF_RULES: Final[Mapping[str, Cause]] = {"robots.txt": Cause.ROBOTS, "private address": Cause.PRIVATE_ADDRESS}


def cause_of(error: str, rule: str = "") -> Cause:
    """For the name of an error's class, or else the rule that excludes a URL; `NONE` without either."""
    if error:
        return _OF_ERRORS.get(error, Cause.OTHER)
    return _OF_RULES.get(rule, Cause.OTHER) if rule else Cause.NONE


def words_of(number: int) -> str:
    """What a record's byte says; empty for nothing."""
    return WORDS[Cause(number)] if number in Cause.__members__.values() and number else ""
