"""Dates as sitemaps and feeds write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_YEAR_OR_MONTH = re.compile(r"(\d{4})(?:-(\d{2}))?").fullmatch
_MAX_LENGTH = 64


def unix_time(text: str) -> float | None:
    """Unix seconds of a W3C date (ISO 8601) or a mail date (RFC 822); None for what is neither.

    What names no zone is UTC, what names no day the first one.
    """
    text = text.strip()
    if not text or len(text) > _MAX_LENGTH or not text.isascii():
        return None
    try:
        return _seconds(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        pass
    try:
        if match := _YEAR_OR_MONTH(text):
            return _seconds(datetime(int(match[1]), int(match[2] or 1), 1, tzinfo=UTC))
        return _seconds(parsedate_to_datetime(text))
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
