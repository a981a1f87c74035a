"""Whatever reads what came off the network or a disk keeps its promises for inputs that once were too much for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CASES = Path(__file__).parent / "fuzz_cases"
sys.path.append(str(BENCHMARKS))

import fuzz_targets  # noqa: E402 - a benchmark is no package
from fuzz import TARGETS  # noqa: E402


@pytest.mark.parametrize("path", sorted(CASES.glob("*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_an_input_that_was_once_too_much(path: Path) -> None:
    """Each case that fuzzing has found is read without a crash."""
    getattr(fuzz_targets, path.parent.name)(path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_any_bytes(target: str) -> None:
    """A hundred random inputs, so that each target is known to work where the fuzzer is not installed."""
    given(st.binary(max_size=300))(getattr(fuzz_targets, target))()
