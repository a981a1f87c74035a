"""Secrets in files, named by settings as `@FILE`: command lines are visible to everybody."""

from __future__ import annotations

from pathlib import Path

from sitecrawl.base.errors import OptionError


def secret_in(file: str, what: str) -> str:
    """Stripped text of `file`. Raises `OptionError`, which names `what` was expected there."""
    try:
        return Path(file).read_text().strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise OptionError(f"{what} is to be read from the file {file!r}: {reason}") from None


def some_secret_in(file: str, what: str) -> str:
    """The same; also raises `OptionError` if it is empty."""
    text = secret_in(file, what)
    if not text:
        raise OptionError(f"{what} is to be read from the file {file!r}: it is empty")
    return text
