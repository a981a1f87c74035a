"""What a crawl's files say of how its URLs are keyed. `sitecrawl.urls.fingerprint` makes the keys."""

from __future__ import annotations

import secrets
from typing import Final

HASH_NAME: Final = "cityhash64+blake2b64-2"
"""Name of the function, stored with files keyed by fingerprints; another name is another format."""
KEY_SIZE: Final = 16
"""Bytes of a crawl's secret key."""


def new_key() -> bytes:
    """A random key, for a new crawl."""
    return secrets.token_bytes(KEY_SIZE)


def check_key(key: bytes) -> None:
    """Raise `ValueError` for a key of another size."""
    if len(key) != KEY_SIZE:
        raise ValueError(f"A fingerprint key has {KEY_SIZE} bytes, and this one {len(key)}")
