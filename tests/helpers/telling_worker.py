"""A worker that begins by saying what its environment is."""

from __future__ import annotations

import os

from sitecrawl.page import process_serving as serving
from sitecrawl.plugins.isolation import worker


def confine(memory: int, cpu_seconds: float) -> list[str]:
    return [f"{name}={value}" for name, value in os.environ.items()]


if __name__ == "__main__":
    vars(serving)["confine"] = confine
    worker.main()
