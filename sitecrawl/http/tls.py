"""Which certificates are accepted: valid ones, or all, with or without a report.

OpenSSL checks a certificate in the handshake, and ends it there if it is invalid. To accept and report such a host,
the crawl connects once more without the check, and does so for this host from then on: one more connection for each
host with an invalid certificate, none for others. (Python cannot run the check and ignore its result.)

As in OpenSSL, and unlike browsers, a host that does not send its intermediate certificates counts as of an unknown
authority.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from enum import StrEnum
from functools import cached_property
from typing import Final

from sitecrawl.http.connection import Endpoint
from sitecrawl.http.errors import BadCertificate, Fault
from sitecrawl.http.proxies import Proxy

_MAX_HOSTS: Final = 10_000
"""Most hosts with invalid certificates remembered; for others each connection finds out anew."""


_FAULTS: Final = {
    2: Fault.UNKNOWN,  # X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT
    9: Fault.NOT_YET,
    10: Fault.EXPIRED,
    18: Fault.SELF_SIGNED,
    19: Fault.UNKNOWN,  # self-signed, but for the host's: an authority of its own
    20: Fault.UNKNOWN,
    21: Fault.UNKNOWN,
    62: Fault.OTHER_NAME,
    64: Fault.OTHER_NAME,  # another address
}
"""Faults by OpenSSL's codes (include/openssl/x509_vfy.h)."""


class Verify(StrEnum):
    """Treatment of hosts with invalid certificates."""

    REQUIRE = "require"
    """Do not ask the host."""
    WARN = "warn"
    """Ask the host, and report it."""
    OFF = "off"
    """Do not check certificates."""


class Tls:
    """See the module. `make` returns a context for `REQUIRE` or `OFF`; each is made at first use, because reading
    all authorities takes time. `distrusted` is called with accepted hosts that are invalid.
    """

    def __init__(
        self,
        make: Callable[[Verify], ssl.SSLContext],
        verify: Verify = Verify.WARN,
        distrusted: Callable[[Endpoint | Proxy, Fault], None] = lambda _endpoint, _fault: None,
    ) -> None:
        self._make = make
        self._verify = verify
        self._told = distrusted
        self._distrusted: set[Endpoint | Proxy] = set()

    @cached_property
    def _strict(self) -> ssl.SSLContext:
        return self._make(Verify.REQUIRE)

    @cached_property
    def unchecked(self) -> ssl.SSLContext:
        """Context without checks, for probes that send nothing confidential."""
        return self._make(Verify.OFF)

    def context(self, endpoint: Endpoint | Proxy) -> ssl.SSLContext:
        """Context for the next connection to `endpoint`."""
        is_lax = self._verify is Verify.OFF or endpoint in self._distrusted
        return self.unchecked if is_lax else self._strict

    def overlooks(self, endpoint: Endpoint | Proxy, error: BadCertificate) -> bool:
        """Whether to connect to `endpoint` again without a check after `error`."""
        if self._verify is Verify.REQUIRE:
            return False
        if len(self._distrusted) >= _MAX_HOSTS:
            self._distrusted.clear()
        self._distrusted.add(endpoint)
        self._told(endpoint, error.fault)
        return True


def bad_certificate(endpoint: Endpoint | Proxy, error: ssl.SSLCertVerificationError) -> BadCertificate:
    """Convert the error of a handshake with `endpoint`."""
    fault = _FAULTS.get(error.verify_code, Fault.OTHER)
    return BadCertificate(fault, f"The certificate of {endpoint.authority} does not hold: {error.verify_message}")
