"""The live page of a crawl: what an operator looks at, and does, while it runs (docs/dashboard.md).

Everything is made for a crawl of ten thousand hosts that must not notice it: one sample a second, of figures that
others keep anyway; tables are looked over in slices of a millisecond or two, and only while somebody reads them.
"""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(
    settings={
        "SITECRAWL_DASHBOARD": True,
        "SITECRAWL_DASHBOARD_ADDRESS": "127.0.0.1",
        "SITECRAWL_DASHBOARD_PORT": 0,
        "SITECRAWL_DASHBOARD_TOKEN": "",
    },
    # It says where it is before the live line begins.
    components={"EXTENSIONS": {"sitecrawl.plugins.dashboard.extension.Dashboard": -1}},
)
