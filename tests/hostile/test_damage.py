"""The standing attacker: whatever happens to a crawl's files, it is mended or named, and the crawl ends complete.

`benchmarks/damage.py` makes many more of these attacks, over all phases.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from attack import attack
from damages import DAMAGES, Damage, damage, files_of
from drawn import SEED
from victims import Range, range_in

ATTACKS = 3
"""On each phase."""


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Range]:
    with range_in(tmp_path_factory.mktemp("range")) as made:
        yield made


@pytest.mark.deep
@pytest.mark.parametrize("phase", ["young", "rotated"])
def test_random_damage(phase: str, at: Range) -> None:
    """No traceback, no wrong bytes, no page lost or stored twice."""
    at.begin(phase)
    for number in range(ATTACKS):
        outcome = attack(at, phase, f"{SEED} {phase} {number}")
        assert not outcome.faults, f"seed {SEED!r}, attack {number}: {outcome}"


@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_every_kind_changes_a_file(name: str, tmp_path: Path) -> None:
    """A damage that leaves all as it was would prove nothing."""
    for number in range(2):
        (tmp_path / f"file{number}").write_bytes(bytes([number + 1]) * 10_000)
    before = {path: path.read_bytes() for path in files_of(tmp_path)}
    DAMAGES[name](tmp_path / "file0", [tmp_path / "file1"], Random(1))
    assert {path: path.read_bytes() for path in files_of(tmp_path)} != before


def test_every_file_is_attacked(tmp_path: Path) -> None:
    """Also the one whose like there are many of."""
    names = ["crawl.json", "db/CURRENT", "db/MANIFEST-000005", *(f"db/{number:06d}.sst" for number in range(50))]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
    attacked = set()
    random = Random(2)
    for _ in range(40):
        for name in names:
            (tmp_path / name).write_bytes(name.encode() * 100)
        done: Damage = damage(tmp_path, random)
        attacked.add(done.file.rpartition(".")[2] if done.file.endswith(".sst") else done.file)
    assert attacked == {"crawl.json", "db/CURRENT", "db/MANIFEST-000005", "sst"}
