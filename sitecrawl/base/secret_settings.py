"""Which settings and arguments are secrets: ours by declaration, others by their names.

Values of secrets are shown on no terminal, in no log, and on no command line that we start, for that is visible to
everybody. `@FILE`, the name of a file with a secret, is not masked.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import Final

from sitecrawl.base.declared import SETTINGS
from sitecrawl.base.errors import OptionError
from sitecrawl.base.expressions import expression


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


_SECRETS: Final = frozenset(
    {
        "AWS_ACCESS_KEY_ID",
        "HTTPAUTH_PASS",
        "REDIS_PARAMS",
    }
)
"""Other projects' settings that are secrets, though their names do not show it."""
NO_SECRETS: Final = frozenset({"REDIS_ITEMS_KEY", "REDIS_START_URLS_KEY"})
"""Names that look like secrets but are keys of Redis."""
MASK: Final = "(masked)"
HIDDEN_WORDS: Final = "SITECRAWL_HIDDEN_WORDS"
"""Environment variable that hands secret words of a command line to a child process."""

_NAMES: Final = expression(
    r"(?:^|[_.-])(?:(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PW|PWD|KEY|APIKEY|CREDENTIAL)S?"
    r"|COOKIE|AUTHORIZATION)(?:$|[_.-])",
    re.IGNORECASE,
).search
_WORD: Final = re.compile(r"((?:-s|-a|--set=?)?)([A-Za-z_][\w.-]*)=(.+)", re.DOTALL).fullmatch
_OPTIONS: Final = frozenset({"-s", "-a", "--set"})
_USER: Final = r"[^/\\@\s:\[]*+:"
_NO_PORT: Final = r"""(?!\d*+(?:[/\\?\#\s,"']|$))"""
_UP_TO_HOST: Final = r"""[^@\s]++@(?:[^\s/\\"',@]*+@)*+"""
"""A password, up to the last `@` before the path."""
_IN_URL: Final = expression(rf"(:[/\\][/\\\s]*+{_USER}){_NO_PORT}{_UP_TO_HOST}")
_TYPED: Final = expression(
    rf"\A(\s*(?:(?P<scheme>[a-z][a-z0-9+.-]*+:(?=[/\\]))|https?:|ftp:)?[/\\\s]*(?!mailto:){_USER}){_NO_PORT}"
    rf"(?:{_UP_TO_HOST}|(?(scheme)\S++\Z|(?!)))",
    re.IGNORECASE,
)
_LOGGED: Final = expression(r"""(?m)^([{ ]['"]([\w.-]+)['"]: )(.*(?:\n {2,}.*)*)$""")


def _is_secret(name: str) -> bool:
    """Whether the setting or argument `name` is a secret."""
    if (setting := SETTINGS.get(name)) is not None:
        return setting.is_secret
    return name in _SECRETS or (name not in NO_SECRETS and _NAMES(name) is not None)


def masked(word: str) -> str:
    """A word of a command line, with secrets masked."""
    found = _WORD(word)
    if found is not None and _is_secret(found[2]) and not found[3].startswith("@"):
        return f"{found[1]}{found[2]}={MASK}"
    return _IN_URL.sub(r"\1PASSWORD@", word)


def masked_url(text: str) -> str:
    """`text`, typed as a URL but perhaps none, with secrets masked."""
    return _TYPED.sub(r"\1PASSWORD@", text)


def parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command line: the words without secrets, and the options with secrets as `-sNAME=VALUE`."""
    shown: list[str] = []
    hidden: list[str] = []
    for word in words:
        if masked(word) == word:
            shown.append(word)
        elif shown and shown[-1] in _OPTIONS:
            hidden.append(f"{'-a' if shown.pop() == '-a' else '-s'}{word}")
        else:
            hidden.append(word.replace("--set=", "-s", 1) if word.startswith("--set=") else word)
    return shown, hidden


def hidden_options(environment: MutableMapping[str, str] = os.environ) -> tuple[list[str], list[str]]:
    """Settings and arguments, as `NAME=VALUE`, that the parent process hid in `environment`. Removes them from it."""
    words = json.loads(environment.pop(HIDDEN_WORDS, "[]"))
    return [word[2:] for word in words if word[:2] == "-s"], [word[2:] for word in words if word[:2] == "-a"]


def _masked_settings(shown: str) -> str:
    """Text of `pprint` of settings, with secrets masked."""

    def mask(line: re.Match[str]) -> str:
        is_file = line[3].startswith(("'@", '"@'))
        rest = "}" if line.end() == len(shown) else ","
        return f"{line[1]}'{MASK}'{rest}" if _is_secret(line[2]) and not is_file else line[0]

    return _IN_URL.sub(r"\1PASSWORD@", _LOGGED.sub(mask, shown))


def mask_logs() -> None:
    """Mask secrets where Scrapy logs overridden settings and feed URIs."""
    for name in ("scrapy.crawler", "scrapy.extensions.feedexport"):
        logger = logging.getLogger(name)
        if _masks not in logger.filters:
            logger.addFilter(_masks)


def _masks(record: logging.LogRecord) -> bool:
    record.msg, record.args = _masked_settings(record.getMessage()), None
    return True
