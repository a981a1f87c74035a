"""Pages that are read in processes that can do nothing else (docs/isolation.md)."""

from typing import Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
PARSE_PROCESSES: Final = Setting("SITECRAWL_PARSE_PROCESSES", 0, "processes",
    "Read pages in this many [processes that can do nothing else](isolation.md). About 1 ms of CPU a page.")
# fmt: on

PLUGIN = Plugin(
    settings=(PARSE_PROCESSES,),
    wanted_by=(PARSE_PROCESSES,),
    reading="sitecrawl.plugins.isolation.isolated_reading.IsolatedReading",
)
