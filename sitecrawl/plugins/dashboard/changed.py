"""What was changed by hand, and what holds for a host now: for the page's form and its list."""

from __future__ import annotations

from typing import Final

from sitecrawl.crawl.changes import Changes
from sitecrawl.plugins.dashboard.tables import Fields, Row
from sitecrawl.sheets.change import Change, host_named, in_words
from sitecrawl.urls.place import KINDS

SHOWN: Final = 200
"""Changes, the newest first."""


class ChangedTables:
    """Of this process: on a cluster every worker has heard of all changes."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    async def changes(self, _: Fields) -> Row:
        """The newest first."""
        found = self._changes.all
        return {"rows": [row_of(change) for change in reversed(found[-SHOWN:])], "total": len(found)}

    async def terms(self, fields: Fields) -> Row:
        """What holds for the host in the field `host`, or for the crawl. Of an option that has
        one of a few values, `choices` has all of them. Raises `OptionError`.
        """
        host = host_named(fields.get("host", ""))
        return {"host": host, "values": self._changes.values(host), "choices": {"scope": KINDS}}


def row_of(change: Change) -> Row:
    """A change as a row."""
    return {
        "at": change.at,
        "option": change.option,
        "host": change.host,
        "before": in_words(change.option, change.before),
        "after": in_words(change.option, change.after),
        "by": change.by,
    }
