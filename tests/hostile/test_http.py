"""The HTTP client keeps its promises, whatever a server sends."""

from __future__ import annotations

import asyncio
import os
import sys
from itertools import islice
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from http_attack import Attack
from http_cases import cases

SEED = int(os.environ.get("HOSTILE_SEED", "1"))
CASES = 1500


def test_good_responses_come_and_bad_ones_do_no_harm() -> None:
    """A good response is what was sent, bad ones end in errors of ours, and none takes more than its budget.

    The same in every run: `HOSTILE_SEED` has others, and `benchmarks/fuzz_http.py` as many as there is time for.
    """
    print(f"HOSTILE_SEED={SEED}")
    attack = Attack()
    asyncio.run(attack.run(islice(cases(SEED), CASES)))
    assert attack.failures == []
    assert attack.outcomes.total() == CASES
    assert attack.outcomes["good: response"] > CASES / 2
    assert {"bad: response", "bad: BadResponse", "bad: Truncated"} <= attack.outcomes.keys()
    endless = sum(count for outcome, count in attack.outcomes.items() if outcome.startswith("endless"))
    refused = sum(attack.outcomes[f"{name}: OverLimit"] for name in {o.partition(":")[0] for o in attack.outcomes})
    assert refused >= endless / 2 > 0
