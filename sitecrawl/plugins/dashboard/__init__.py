"""The live page of a crawl: what an operator looks at, and does, while it runs (docs/dashboard.md).

Everything is made for a crawl of ten thousand hosts that must not notice it: one sample a second, of figures that
others keep anyway; tables are looked over in slices of a millisecond or two, and only while somebody reads them.
"""

from typing import Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
DASHBOARD: Final = Setting("SITECRAWL_DASHBOARD", True, "yes or no",
    "Serve [a live page](dashboard.md) of the crawl. Takes 0.3% of a core with 10,000 hosts.")
DASHBOARD_ADDRESS: Final = Setting("SITECRAWL_DASHBOARD_ADDRESS", "127.0.0.1", "IP address",
    "Where the page is served. Other addresses than this machine's need a token.")
DASHBOARD_PORT: Final = Setting("SITECRAWL_DASHBOARD_PORT", 0, "port",
    "The page's port; 0: any that is free.", most=65_535)
DASHBOARD_TOKEN: Final = Setting("SITECRAWL_DASHBOARD_TOKEN", "", "text",
    "The secret in the page's address: 16 or more letters, digits, `-` and `_`. Empty: a new one in every run.",
    is_secret=True)
# fmt: on

PLUGIN = Plugin(
    settings=(DASHBOARD, DASHBOARD_ADDRESS, DASHBOARD_PORT, DASHBOARD_TOKEN),
    # It says where it is before the live line begins.
    components={"EXTENSIONS": {"sitecrawl.plugins.dashboard.extension.Dashboard": -1}},
)
