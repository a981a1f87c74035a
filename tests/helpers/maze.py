"""A site with a trap: what is held back, and sampled when nothing else is left."""

from __future__ import annotations

import random

from localweb import linked

GOOD = 60
MINTED = 20


def prose(of: object) -> str:
    """A text that resembles no other."""
    words = random.Random(repr(of))
    return " ".join(f"{words.getrandbits(64):x}" for _ in range(60))


def with_maze(path: str, host: str) -> str | None:
    """Good pages, and a folder of which each page leads to twenty more."""
    if path == "/":
        return linked("/maze/0", *(f"/good/{n}" for n in range(GOOD))) + prose(path)
    if path.startswith("/good/"):
        return linked("/", title=path) + prose(path)
    if path.startswith("/maze/"):
        number = int(path.removeprefix("/maze/"))
        return linked(*(f"/maze/{MINTED * number + n}" for n in range(1, MINTED + 1)), title=path) + prose(path)
    return None
