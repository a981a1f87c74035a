"""Scrapy middlewares: thin adapters over sitecrawl."""

from typing import TYPE_CHECKING, NoReturn

from middlewares.capture import CaptureMiddleware
from middlewares.givenup import GivenUpMiddleware
from middlewares.limits import DecodingMiddleware, RequestsMiddleware
from middlewares.links import LinksMiddleware
from middlewares.login import LoginMiddleware, LoginRedirectsMiddleware
from middlewares.outages import OutagesMiddleware
from middlewares.output import OutputMiddleware
from middlewares.redirects import RedirectsMiddleware
from middlewares.refusals import RefusalsMiddleware
from middlewares.rendering import RenderingMiddleware
from middlewares.robots import RobotsMiddleware
from sitecrawl.base.shadowing import no_member

__all__ = [
    "CaptureMiddleware",
    "DecodingMiddleware",
    "GivenUpMiddleware",
    "LinksMiddleware",
    "LoginMiddleware",
    "LoginRedirectsMiddleware",
    "OutagesMiddleware",
    "OutputMiddleware",
    "RedirectsMiddleware",
    "RefusalsMiddleware",
    "RenderingMiddleware",
    "RequestsMiddleware",
    "RobotsMiddleware",
]

if not TYPE_CHECKING:  # which would then find any name here

    def __getattr__(name: str) -> NoReturn:
        raise no_member(__name__, name)
