"""A machine whose clock is set while the crawl runs, and whose name server comes and goes."""

from __future__ import annotations

import mmap
import os
import struct
import time
from pathlib import Path

from resolvers import Vanishing


class Jumping(Vanishing):
    """`TWISTED_DNS_RESOLVER=clocks.Jumping`: `time.time` is off by what `set_clock` wrote to CLOCK_IS_OFF."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        with Path(os.environ["CLOCK_IS_OFF"]).open("rb") as file:  # mapped: it takes no descriptor to read the time
            off, true = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ), time.time
        time.time = lambda: true() + struct.unpack_from("d", off)[0]


def set_clock(file: Path, seconds: float) -> None:
    """Have crawls that look at `file` be off by so much."""
    with file.open("r+b" if file.exists() else "wb") as clock:
        clock.write(struct.pack("d", seconds))
