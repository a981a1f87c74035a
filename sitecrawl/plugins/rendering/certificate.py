"""The key by which the proxy is any host to the browser, as TLS has it. It is made anew for each run, and the browser
is told to believe this one and no other; what hosts show themselves is the HTTP client's business.
"""

from __future__ import annotations

import base64
import hashlib
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_LIFETIME: Final = timedelta(days=365)


class Identity(NamedTuple):
    """What the proxy shows, and how the browser knows it."""

    tls: ssl.SSLContext
    spki: str
    """The SHA-256 of the public key, in base64."""


def new_identity() -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sitecrawl")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _LIFETIME)
        .sign(key, hashes.SHA256())
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return Identity(_context(key, certificate), base64.b64encode(hashlib.sha256(public).digest()).decode())


def _context(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> ssl.SSLContext:
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory(prefix="sitecrawl-") as folder:  # `ssl` reads files alone
        path = Path(folder, "proxy.pem")
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + secret)
        tls.load_cert_chain(path)
    return tls
