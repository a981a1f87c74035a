"""The one place where an answer is put together: the command and the dashboard both ask here."""

from __future__ import annotations

import time
from collections.abc import Callable

from sitecrawl.plugins.why.answer import Answer
from sitecrawl.plugins.why.case import Case
from sitecrawl.plugins.why.evidence import ALL
from sitecrawl.plugins.why.source import Source
from sitecrawl.plugins.why.verdict import verdict


def why(source: Source, text: str, now: Callable[[], float] = time.time) -> Answer:
    """Why the URL that a person typed was fetched, waits, or is not known.

    Raises `OptionError` for what is no URL, `StorageError` for what cannot be read.
    """
    case = Case.of(source, text)
    found = verdict(case, now)
    evidence = [one for say in ALL if (one := say(case)) is not None]
    url = case.record.url if case.record is not None else case.url.href
    return Answer(url, found.name, found.text, evidence, found.advice)
