"""Pages as a browser has them (docs/rendering.md): a real one, that reaches the network by this process alone."""

from typing import Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
RENDER: Final = Setting("SITECRAWL_RENDER", "0", "name",
    "`1`: open every page in a browser; `auto`: only where that helps ([rendering](rendering.md)).",
    choices=("0", "1", "auto"))
RENDER_WAIT: Final = Setting("SITECRAWL_RENDER_WAIT", 5.0, "seconds",
    "How long a page may take to load, and then again to stop asking for things.")
SCREENSHOTS: Final = Setting("SITECRAWL_SCREENSHOTS", False, "yes or no",
    "Keep a picture of each rendered page, 10 to 100 kB.")
# fmt: on

MIDDLEWARE: Final = "sitecrawl.plugins.rendering.middleware.RenderingMiddleware"
PLUGIN = Plugin(
    settings=(RENDER, RENDER_WAIT, SCREENSHOTS),
    wanted_by=(RENDER, SCREENSHOTS),
    components={"DOWNLOADER_MIDDLEWARES": {MIDDLEWARE: 570}},
    arguments={"render": MIDDLEWARE, "screenshots": MIDDLEWARE},
)
