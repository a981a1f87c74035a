"""Certificates for servers of tests."""

from __future__ import annotations

import datetime as dt
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

ONE_DAY = dt.timedelta(days=1)


def certificate(folder: Path) -> Path:
    """A file with a key and a certificate that it has signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hostile.example")])
    now = dt.datetime.now(dt.UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + ONE_DAY)
        .sign(key, hashes.SHA256())
    )
    (folder / "both.pem").write_bytes(_secret(key) + signed.public_bytes(serialization.Encoding.PEM))
    return folder / "both.pem"


def _secret(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


class Authority:
    """A certificate authority of its own, whose certificate is in the file `file`."""

    def __init__(self, folder: Path, name: str = "an authority of tests") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        is_one = x509.BasicConstraints(ca=True, path_length=0)
        own = self._signed(self._name, self._key, is_one)
        self.file = folder / "authority.pem"
        self.file.write_bytes(own.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *addresses: str, days: float = 1) -> tuple[Path, Path]:
        """Files of a certificate for `name`, and for these IP addresses, and of its key; it expires in `days`."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = [x509.DNSName(name), *(x509.IPAddress(ip_address(address)) for address in addresses)]
        issued = self._signed(subject, key, x509.SubjectAlternativeName(names), days)
        files = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        files[0].write_bytes(issued.public_bytes(serialization.Encoding.PEM))
        files[1].write_bytes(_secret(key))
        return files

    def together(self, name: str, *addresses: str, days: float = 1) -> Path:
        """As `issue`, in one file."""
        issued, key = self.issue(name, *addresses, days=days)
        (both := issued.with_suffix(".both.pem")).write_bytes(key.read_bytes() + issued.read_bytes())
        return both

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, extension: x509.ExtensionType, days: float = 1
    ) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder(self._name, subject, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(now - 2 * ONE_DAY).not_valid_after(now + days * ONE_DAY)
        return builder.add_extension(extension, critical=False).sign(self._key, hashes.SHA256())
