"""A crawl ends complete, whatever the machine does to it meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from drawn import SEED
from waiting import PATIENCE

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "helpers" / "spiders"))

from fault_cases import own_machine

pytestmark = pytest.mark.deep

ATTACK = Path(__file__).with_name("fault_attack.py")
FAULTS = 5


def test_every_page_once_under_faults(tmp_path: Path) -> None:
    """Every page is stored once, the crawl is sound, and it ends, where it does, as is documented.

    `benchmarks/faults.py` makes as many as there is time for.
    """
    print(f"seed {SEED}")
    words = [*own_machine(), sys.executable, str(ATTACK), str(tmp_path), str(SEED), str(FAULTS)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE)
    print(done.stderr)
    assert done.returncode == 0
    result = json.loads(done.stdout)
    assert [line for name in ("wrong", "tracebacks", "problems", "lost", "twice") for line in result[name]] == []
    assert sum(record["count"] for record in result["records"].values()) == FAULTS
