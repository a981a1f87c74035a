"""A crawl as one file to look at, print and send: `scrapy report` (docs/dashboard.md).

`gather` reads the crawl's directory, also while it runs; `render` writes HTML. The file has no script and asks for
nothing, and forbids its reader's browser both.
"""

from typing import Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
REPORT: Final = Setting("SITECRAWL_REPORT", "", "name of a file",
    "The same for the [report](commands.md#scrapy-report).")
# fmt: on

PLUGIN = Plugin(
    settings=(REPORT,),
    outputs={REPORT: "sitecrawl.plugins.report.commands.report.report_to"},
    commands={"report": "sitecrawl.plugins.report.commands.report.Command"},
)
