"""The arguments with which a crawl was begun, in its database: for whoever runs it again without naming them.

They are JSON: a map of names to texts, as they were typed. What has a password in it is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from sitecrawl.base.errors import CorruptFile
from sitecrawl.base.secret_settings import masked
from sitecrawl.crawldir.database import Batch, Database
from sitecrawl.crawldir.meta import ARGUMENTS
from sitecrawl.crawldir.participant import Participant


class Given(Participant):
    """Part of every checkpoint: `arguments`, as far as they may be kept."""

    def __init__(self, arguments: Mapping[str, object]) -> None:
        kept = {name: text for name, text in arguments.items() if isinstance(text, str)}
        self._arguments = {name: text for name, text in kept.items() if masked(f"{name}={text}") == f"{name}={text}"}
        self._is_new = True

    def prepare(self, batch: Batch) -> None:
        if self._is_new:
            batch.put("meta", ARGUMENTS, json.dumps(self._arguments).encode())

    def committed(self) -> None:
        self._is_new = False


def given_to(database: Database) -> dict[str, str]:
    """Arguments of the last run; empty if there was none. Raises `CorruptFile`."""
    data = database.get("meta", ARGUMENTS)
    if data is None:
        return {}
    try:
        return {str(name): str(text) for name, text in json.loads(data).items()}
    except (ValueError, AttributeError) as error:
        raise CorruptFile(f"The arguments of the crawl in {database.path} cannot be read: {error}") from error
