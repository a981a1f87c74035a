"""The points at which processes are killed: all durable steps of the product, each of them in some test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import durable_steps
import pytest
from durable_steps import ELSEWHERE, LEFT_OUT, REPAIRS
from failpoints import all_points

TESTS = Path(__file__).resolve().parents[1]


def named() -> set[str]:
    """In the lists that tests go through."""
    given = [value for name, value in vars(durable_steps).items() if name.isupper()] + [*REPAIRS.values()]
    return {text for value in given for text in _texts(value) if ": " in text}


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _texts(part)


def test_every_durable_step_is_a_point() -> None:
    """What the source has is what the lists have: a new step needs a test that kills a process there."""
    found = {str(point) for point in all_points()}
    assert named() | ELSEWHERE.keys() | LEFT_OUT.keys() == found


@pytest.mark.parametrize("point", ELSEWHERE)
def test_a_point_of_another_test(point: str) -> None:
    """It is named there."""
    assert point in (TESTS / ELSEWHERE[point]).read_text()
