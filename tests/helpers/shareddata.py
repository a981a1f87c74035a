"""The vectors that nobody here wrote: where they are, and a skip that says so where they are not."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3] / "shared" / "data"


def shared(name: str) -> Path:
    """The file `name` of the shared test data; without that data, the test is skipped, and says why."""
    path = ROOT / name
    if not path.exists():
        pytest.skip(f"no shared test data: ../shared/data/{name}")
    return path


def json_vectors(name: str) -> list[dict[str, Any]]:
    """The vectors of a web-platform-tests file, without the comments between them."""
    return [vector for vector in json.loads(shared(name).read_text("utf-8")) if isinstance(vector, dict)]


def csv_vectors(name: str) -> list[list[str]]:
    """The rows of a crawler-commons file, without comments; spaces around a field are no part of it."""
    lines = shared(name).read_text("utf-8").split("\n")
    rows = csv.reader((line for line in lines if line.strip() and not line.startswith("#")), skipinitialspace=True)
    return [[field.strip(" ") for field in row] for row in rows]
