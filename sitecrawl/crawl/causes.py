"""Plain words for what keeps a crawl from a host's pages: causes of URLs, statuses, redirects."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from sitecrawl.frontier.urls.causes import OF_ERRORS, OF_RULES, WORDS

_NO_FAILURES: Final = frozenset(
    {"HostGivenUp", "IgnoreRequest", "InWant", "Interrupted", "LoginFailed", "PrivateAddress", "Unreachable"}
)
"""Exceptions by which a middleware declines a request; no failures."""
REDIRECTS: Final = "redirects that end nowhere"
OUT_OF_SCOPE: Final = "redirects out of scope"


def of_exception(name: str) -> str:
    """Words for the exception called `name`; empty if there are none."""
    if name in _NO_FAILURES:
        return ""
    return WORDS[OF_ERRORS[name]] if name in OF_ERRORS else name


def of_status(status: int) -> str:
    """Words for an answer with an error `status`."""
    try:
        return f"answers {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"answers {status}"


def of_rule(rule: str) -> str:
    """Why `rule` forbids a URL."""
    return WORDS[OF_RULES[rule]] if rule in OF_RULES else rule
