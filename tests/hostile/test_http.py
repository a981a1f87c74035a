"""The HTTP client keeps its promises, whatever a server sends."""

from __future__ import annotations

import asyncio
import sys
from itertools import islice
from pathlib import Path

import pytest
from drawn import SEED

sys.path.append(str(Path(__file__).parent))

from http_attack import Attack
from http_cases import cases


@pytest.mark.parametrize(
    ("seed", "number"), [(1, 200), pytest.param(SEED, 5_000, id="drawn", marks=pytest.mark.deep)]
)
def test_good_responses_come_and_bad_ones_do_no_harm(seed: int, number: int) -> None:
    """A good response is what was sent, bad ones end in errors of ours, and none takes more than its budget.

    `benchmarks/fuzz_http.py` sends as many as there is time for.
    """
    print(f"seed {seed}")
    attack = Attack()
    asyncio.run(attack.run(islice(cases(seed), number)))
    assert attack.failures == []
    assert attack.outcomes.total() == number
    assert attack.outcomes["good: response"] > number / 2
    assert {"bad: response", "bad: BadResponse", "bad: Truncated"} <= attack.outcomes.keys()
    endless = sum(count for outcome, count in attack.outcomes.items() if outcome.startswith("endless"))
    refused = sum(attack.outcomes[f"{name}: OverLimit"] for name in {o.partition(":")[0] for o in attack.outcomes})
    assert refused >= endless / 2 > 0
