"""When pages are fetched again: as they change, or all of them in one more round (docs/recrawling.md)."""

from typing import Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
BUDGET: Final = Setting("SITECRAWL_RECRAWL_BUDGET", 10_000.0, "requests a day",
    "For fetching pages again, over all hosts, conditional requests included.")
MIN_INTERVAL: Final = Setting("SITECRAWL_RECRAWL_MIN_INTERVAL", 3600.0, "seconds",
    "Between two fetches of a page, at least.")
MAX_INTERVAL: Final = Setting("SITECRAWL_RECRAWL_MAX_INTERVAL", 2_592_000.0, "seconds",
    "Between two fetches of a page, at most.")
# fmt: on

PLUGIN = Plugin(
    settings=(BUDGET, MIN_INTERVAL, MAX_INTERVAL),
    commands={"update": "sitecrawl.plugins.recrawl.commands.update.Command"},
    arguments={
        "again": "sitecrawl.plugins.recrawl.again.Again",
        "recrawl": "sitecrawl.plugins.recrawl.revisits.Recrawling",
    },
)
