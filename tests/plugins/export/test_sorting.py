"""Sorting on disk."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from sitecrawl.plugins.export.sorting import Sorted


@pytest.mark.parametrize("held", [100, 5_000, 1 << 20])
def test_it_sorts(tmp_path: Path, held: int) -> None:
    """Whatever memory holds, all lines come in order, each once; and nothing is left of them."""
    random = Random(1)
    lines = [b"%d" % random.randrange(3_000) for _ in range(5_000)] + [b"", b"\xff"]
    found = Sorted(tmp_path / "sorted", held)
    for line in lines:
        found.add(line)
        assert len([*(tmp_path / "sorted").iterdir()]) <= 64
    assert [*found] == sorted(set(lines))
    assert [*(tmp_path / "sorted").iterdir()] == []
