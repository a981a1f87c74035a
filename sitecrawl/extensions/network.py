"""Shared by all download handlers of a crawl: the client, and which addresses may be connected to.

An address is checked when a connection is made, because a name may lead to another one at each look-up. A private
one is refused unless a seed names its host by the address or by a name that is not public: the owner of a public
name could let it lead into the crawler's own network.
"""

from __future__ import annotations

import logging
import os
import ssl
from functools import partial
from typing import Any, Final

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from sitecrawl import http
from sitecrawl.base import descriptors, limits
from sitecrawl.base.display import printable
from sitecrawl.crawl.build import Crawl
from sitecrawl.crawl.configuration import verify_tls
from sitecrawl.crawl.download_errors import PrivateAddress
from sitecrawl.extensions.resolver import condemn, look_up
from sitecrawl.http import addresses
from sitecrawl.http.blame import PATIENCE
from sitecrawl.http.connection import MAX_IDLE
from sitecrawl.urls.url import is_public_name

logger = logging.getLogger(__name__)

_DISTRUSTED: Final = "tls/distrusted/"
"""Prefix of stats: hosts with invalid certificates by reason."""
_HTTPS: Final = 443
_ATTRIBUTE: Final = "sitecrawl_client"
"""Attribute of a crawler with its client: see `Crawl.of`."""


def client_of(crawler: Crawler) -> http.Client:
    """The client of `crawler`, made at the first call. Shared, because an answer over one protocol proves the
    network for all.
    """
    client: http.Client | None = vars(crawler).get(_ATTRIBUTE)
    if client is None:
        client = vars(crawler)[_ATTRIBUTE] = _client(crawler)
    return client


def _client(crawler: Crawler) -> http.Client:
    settings = crawler.settings
    read_limits = http.ReadLimits(limits.HEADERS.value, limits.HEADER_SIZE.value, limits.CHUNKS.value)
    idle = descriptors.for_connections() - settings.getint("CONCURRENT_REQUESTS")
    return http.Client(
        look_up,
        http.Tls(partial(tls_context, settings), verify_tls(settings), partial(_distrusted, crawler)),
        read_limits,
        max_idle=max(0, min(idle, MAX_IDLE)),
        patience=min(limits.IDLE_TIME.read_most(settings), PATIENCE),
        condemn=condemn,
    )


def tls_context(settings: BaseSettings, verify: http.Verify) -> ssl.SSLContext:
    """TLS context with the versions and ciphers of Scrapy's settings."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if verify is http.Verify.OFF:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    else:
        context.load_default_certs()
    if least := settings["DOWNLOAD_TLS_MIN_VERSION"]:
        context.minimum_version = _version(least)
    if most := settings["DOWNLOAD_TLS_MAX_VERSION"]:
        context.maximum_version = _version(most)
    if ciphers := settings["DOWNLOADER_CLIENT_TLS_CIPHERS"]:
        context.set_ciphers(ciphers)
    if keys := os.environ.get("SSLKEYLOGFILE"):
        context.keylog_filename = keys
    return context


def _version(name: str) -> ssl.TLSVersion:
    """As Scrapy names it, such as TLSv1.2."""
    return ssl.TLSVersion[name.removesuffix(".0").replace(".", "_")]


def _distrusted(crawler: Crawler, endpoint: http.Endpoint | http.Proxy, fault: http.Fault) -> None:
    crawl = Crawl.of(crawler)
    name = endpoint.host if endpoint.port == _HTTPS else endpoint.authority
    if crawl.outcomes.distrusted(name, fault):
        crawl.stats.inc_value(f"{_DISTRUSTED}{fault}")
        logger.warning("The certificate of %s is %s: what comes of it is taken all the same", printable(name), fault)


def check_address(crawler: Crawler, url: str, host: str, address: str) -> None:
    """Raise `PrivateAddress` if a request for `url` on `host` must not connect to `address`."""
    if limits.PRIVATE_ADDRESS.read(crawler.settings) or addresses.is_public(address):
        return
    if is_public_name(host) or host not in Crawl.of(crawler).seed_hosts:
        raise PrivateAddress(url, address)


def bind_address(given: Any) -> tuple[str, int] | None:
    """Local address and port by DOWNLOAD_BIND_ADDRESS or a request's `bindaddress`."""
    return (given, 0) if isinstance(given, str) else given
