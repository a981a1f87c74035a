"""Scrapy middlewares: thin adapters over sitecrawl."""

from middlewares.capture import CaptureMiddleware
from middlewares.givenup import GivenUpMiddleware
from middlewares.limits import DecodingMiddleware, RedirectsMiddleware, RequestsMiddleware
from middlewares.links import LinksMiddleware
from middlewares.outages import OutagesMiddleware
from middlewares.output import OutputMiddleware
from middlewares.refusals import RefusalsMiddleware
from middlewares.robots import RobotsMiddleware

__all__ = [
    "CaptureMiddleware",
    "DecodingMiddleware",
    "GivenUpMiddleware",
    "LinksMiddleware",
    "OutagesMiddleware",
    "OutputMiddleware",
    "RedirectsMiddleware",
    "RefusalsMiddleware",
    "RequestsMiddleware",
    "RobotsMiddleware",
]
