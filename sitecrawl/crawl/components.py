"""Which of our components a crawl has, by its settings."""

from __future__ import annotations

from typing import Any

from scrapy.settings import BaseSettings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object

CAPTURE = "middlewares.capture.CaptureMiddleware"
"""Reports the outcome of each fetch; without it the scheduler hears of responses alone."""
REFUSALS = "middlewares.refusals.RefusalsMiddleware"
ROBOTS = "middlewares.robots.RobotsMiddleware"
WARC = "pipelines.warc.WarcPipeline"
"""Without it no page is stored."""
_SCHEDULER = "sitecrawl.scheduler.Scheduler"


def has_our_scheduler(settings: BaseSettings) -> bool:
    """Whether the crawl uses our scheduler, or one on it."""
    return _is(settings["SCHEDULER"], _SCHEDULER)


def has_component(settings: BaseSettings, setting: str, name: str) -> bool:
    """Whether the class `name`, or one on it, is among the components of `setting`."""
    components = build_component_list(settings.get_component_priority_dict_with_base(setting))
    return any(_is(component, name) for component in components)


def _is(component: Any, name: str) -> bool:
    return any(f"{base.__module__}.{base.__qualname__}" == name for base in load_object(component).__mro__)
