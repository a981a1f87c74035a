"""What a crawl tells other programs by itself: JSON by HTTP, when it begins, ends, stalls or meets many errors."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(
    settings={
        "SITECRAWL_WEBHOOKS": [],
        "SITECRAWL_STALL": 300.0,
        "SITECRAWL_ERROR_THRESHOLD": 0.5,
        "SITECRAWL_ERROR_WINDOW": 300.0,
        "SITECRAWL_HEARTBEAT": 60.0,
    },
    wanted_by=("SITECRAWL_WEBHOOKS",),
    components={"EXTENSIONS": {"sitecrawl.plugins.webhooks.extension.Webhooks": 0}},
)
