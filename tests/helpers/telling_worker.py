"""A worker that begins by saying what its environment is."""

from __future__ import annotations

import os

from sitecrawl.isolation import serving, worker
from sitecrawl.isolation.sandbox import Rations


def confine(rations: Rations) -> list[str]:
    return [f"{name}={value}" for name, value in os.environ.items()]


if __name__ == "__main__":
    vars(serving)["confine"] = confine
    worker.main()
