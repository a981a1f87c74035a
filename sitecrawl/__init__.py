"""A crawler for whole sites, on Scrapy. Start with README.md; the map is docs/design/architecture.md."""

__version__ = "0.2.0"
