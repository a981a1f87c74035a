"""What a crawl tells other programs by itself: JSON by HTTP, when it begins, ends, stalls or meets many errors."""

from typing import Any, Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
WEBHOOKS: Final[Setting[list[Any]]] = Setting("SITECRAWL_WEBHOOKS", [], "URLs",
    "Who is [told by HTTP](alerts.md) of the crawl's start, end, stalls and errors.", is_secret=True)
# fmt: on

PLUGIN = Plugin(
    settings=(WEBHOOKS,),
    wanted_by=(WEBHOOKS,),
    components={"EXTENSIONS": {"sitecrawl.plugins.webhooks.extension.Webhooks": 0}},
)
