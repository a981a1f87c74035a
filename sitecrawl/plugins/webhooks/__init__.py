"""What a crawl tells other programs by itself: JSON by HTTP, when it begins, ends, stalls or meets many errors."""

from typing import Any, Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
WEBHOOKS: Final[Setting[list[Any]]] = Setting("SITECRAWL_WEBHOOKS", [], "URLs",
    "Who is [told by HTTP](alerts.md) of the crawl's start, end, stalls and errors.", is_secret=True)
STALL: Final = Setting("SITECRAWL_STALL", 300.0, "seconds",
    "After this time without a fetch, although something could be fetched, the crawl counts as stalled; 0: never.")
ERROR_THRESHOLD: Final = Setting("SITECRAWL_ERROR_THRESHOLD", 0.5, "share",
    "If more of the fetches of the last five minutes are errors, there is an alert.")
HEARTBEAT: Final = Setting("SITECRAWL_HEARTBEAT", 60.0, "seconds",
    "Between two heartbeats, for webhooks whose `events` name `heartbeat`; 0: none.")
# fmt: on

PLUGIN = Plugin(
    settings=(WEBHOOKS, STALL, ERROR_THRESHOLD, HEARTBEAT),
    wanted_by=(WEBHOOKS,),
    components={"EXTENSIONS": {"sitecrawl.plugins.webhooks.extension.Webhooks": 0}},
)
