"""Scrapy item pipelines over the page store, for ITEM_PIPELINES."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pipelines.warc import WarcPipeline
from sitecrawl.base.shadowing import no_member

if TYPE_CHECKING:
    from pipelines.database import DatabasePipeline, ItemsPipeline
    from pipelines.redis import RedisPipeline

__all__ = ["DatabasePipeline", "ItemsPipeline", "RedisPipeline", "WarcPipeline"]

_LATER = {
    "DatabasePipeline": "pipelines.database",
    "ItemsPipeline": "pipelines.database",
    "RedisPipeline": "pipelines.redis",
}


def __getattr__(name: str) -> Any:
    # SQLAlchemy and redis take longer to import than a small crawl takes: only who names them pays.
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise no_member(__name__, name)
