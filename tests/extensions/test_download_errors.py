"""What Scrapy is told of downloads that brought nothing."""

from __future__ import annotations

from ssl import SSLError

import pytest

from sitecrawl import http
from sitecrawl.crawl.download_errors import HELPS, NoTls, for_scrapy


def tls_error(reason: str) -> Exception:
    cause = SSLError(1, reason)
    cause.reason = reason
    error = http.ConnectionFailed("a.example:443 cannot be connected to")
    error.__cause__ = cause
    return for_scrapy(error)


@pytest.mark.parametrize(
    ("reason", "setting"),
    [
        ("DH_KEY_TOO_SMALL", "DOWNLOADER_CLIENT_TLS_CIPHERS=DEFAULT:@SECLEVEL=0"),
        ("SSLV3_ALERT_HANDSHAKE_FAILURE", "DOWNLOADER_CLIENT_TLS_CIPHERS=DEFAULT:@SECLEVEL=0"),
        ("UNSUPPORTED_PROTOCOL", "DOWNLOAD_TLS_MIN_VERSION=TLSv1.0 with"),
        ("TLSV1_ALERT_PROTOCOL_VERSION", "DOWNLOAD_TLS_MIN_VERSION=TLSv1.0 with"),
    ],
)
def test_weak_tls_names_the_setting_that_helps(reason: str, setting: str) -> None:
    """OpenSSL says why it shook no hands, and not what to do."""
    error = tls_error(reason)
    assert type(error) is NoTls
    assert setting in str(error)
    assert HELPS in str(error)


def test_other_tls_names_none() -> None:
    """No setting helps where something else listens."""
    assert HELPS not in str(tls_error("WRONG_VERSION_NUMBER"))
