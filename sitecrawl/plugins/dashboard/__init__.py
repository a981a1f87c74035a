"""The live page of a crawl: what an operator looks at, and does, while it runs (docs/dashboard.md).

Everything is made for a crawl of ten thousand hosts that must not notice it: one sample a second, of figures that
others keep anyway; tables are looked over in slices of a millisecond or two, and only while somebody reads them.
"""

from typing import Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
DASHBOARD: Final = Setting("SITECRAWL_DASHBOARD", "127.0.0.1", "IP address",
    "Where [a live page](dashboard.md) of the crawl is served, with a port (`127.0.0.1:8123`), or on any that is "
    "free; `False`: nowhere. Other addresses than this machine's need a token. 0.3% of a core with 10,000 hosts.")
DASHBOARD_TOKEN: Final = Setting("SITECRAWL_DASHBOARD_TOKEN", "", "text",
    "The secret in the page's address: 16 or more letters, digits, `-` and `_`. Empty: a new one in every run.",
    is_secret=True)
# fmt: on

PLUGIN = Plugin(
    settings=(DASHBOARD, DASHBOARD_TOKEN),
    # It says where it is before the live line begins.
    components={"EXTENSIONS": {"sitecrawl.plugins.dashboard.extension.Dashboard": -1}},
)
