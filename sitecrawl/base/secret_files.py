"""Secrets in files that settings name after an `@`: a command line can be read by everybody."""

from __future__ import annotations

from pathlib import Path

from sitecrawl.base.errors import OptionError


def secret_in(file: str, what: str) -> str:
    """The text in `file`, without space around it. Raises `OptionError`, which says that `what` is to be there."""
    try:
        return Path(file).read_text().strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise OptionError(f"{what} is to be read from the file {file!r}: {reason}") from None


def some_secret_in(file: str, what: str) -> str:
    """The same, of which there has to be some."""
    text = secret_in(file, what)
    if not text:
        raise OptionError(f"{what} is to be read from the file {file!r}: it is empty")
    return text
