"""A crawl for OpenTelemetry: figures as metrics, its fetches as traces. Off by default; needs the extra `otel`."""
