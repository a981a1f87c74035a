"""Stores that the settings name."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from sitecrawl.base.errors import OptionError
from sitecrawl.plugins.remote import REMOTE, REMOTE_OPTIONS, REMOTE_WAIT
from sitecrawl.plugins.remote.options import RemoteOptions, remote_options, safe_name


def remote(settings: BaseSettings, *places: str) -> RemoteOptions:
    """Where a crawl's files go besides its directory, `places` below SITECRAWL_REMOTE. Raises `OptionError`."""
    if not (url := REMOTE.read(settings)):
        raise OptionError("Say where to: -s SITECRAWL_REMOTE=s3://BUCKET/PREFIX")
    return remote_at(settings, "/".join((url.rstrip("/"), *map(safe_name, places))))


def remote_at(settings: BaseSettings, url: str) -> RemoteOptions:
    """The store at `url`, with the options that the settings have for all. Raises `OptionError`."""
    try:
        storage = REMOTE_OPTIONS.read(settings)
    except (TypeError, ValueError) as error:
        raise OptionError("SITECRAWL_REMOTE_OPTIONS has to be a mapping, or the JSON of one") from error
    return remote_options(url, storage, REMOTE_WAIT.read(settings))
