"""Scrapy middlewares: thin adapters over sitecrawl, each imported at first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sitecrawl.base.shadowing import no_member

if TYPE_CHECKING:
    from middlewares.capture import CaptureMiddleware
    from middlewares.limits import DecodingMiddleware, RequestsMiddleware
    from middlewares.outages import GivenUpMiddleware, OutagesMiddleware, RefusalsMiddleware
    from middlewares.output import LinksMiddleware, OutputMiddleware
    from middlewares.redirects import RedirectsMiddleware
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

_MODULES = {
    "CaptureMiddleware": "capture",
    "DecodingMiddleware": "limits",
    "GivenUpMiddleware": "outages",
    "LinksMiddleware": "output",
    "OutagesMiddleware": "outages",
    "OutputMiddleware": "output",
    "RedirectsMiddleware": "redirects",
    "RefusalsMiddleware": "outages",
    "RequestsMiddleware": "limits",
    "RobotsMiddleware": "robots",
}

if not TYPE_CHECKING:  # which would then find any name here

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return getattr(import_module(f"middlewares.{_MODULES[name]}"), name)
        raise no_member(__name__, name)
