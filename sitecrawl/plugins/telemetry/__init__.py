"""A crawl for OpenTelemetry: figures as metrics, its fetches as traces. Off by default; needs the extra `otel`."""

from sitecrawl.base.plugins import Plugin

PLUGIN = Plugin(
    settings={"SITECRAWL_OTEL": False},
    wanted_by=("SITECRAWL_OTEL",),
    components={"EXTENSIONS": {"sitecrawl.plugins.telemetry.extension.Telemetry": 0}},
    needs=("dashboard",),
)
