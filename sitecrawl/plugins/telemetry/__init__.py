"""A crawl for OpenTelemetry: figures as metrics, its fetches as traces. Off by default; needs the extra `otel`."""

from typing import Final

from sitecrawl.base.plugins import Plugin
from sitecrawl.base.setting import Setting

# fmt: off
OTEL: Final = Setting("SITECRAWL_OTEL", False, "yes or no",
    "Send metrics and traces to a collector of [OpenTelemetry](telemetry.md). Needs the extra `otel`.")
# fmt: on

PLUGIN = Plugin(
    settings=(OTEL,),
    wanted_by=(OTEL,),
    components={"EXTENSIONS": {"sitecrawl.plugins.telemetry.extension.Telemetry": 0}},
    needs=("dashboard",),
)
