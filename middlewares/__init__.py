"""Scrapy middlewares: thin adapters over sitecrawl."""

from middlewares.capture import CaptureMiddleware
from middlewares.links import LinksMiddleware
from middlewares.robots import RobotsMiddleware

__all__ = ["CaptureMiddleware", "LinksMiddleware", "RobotsMiddleware"]
