"""Whatever happens to the keys of a crawl on Redis, it is mended, its workers go on, and every page is stored once.

`benchmarks/damage.py --redis` makes many more of these attacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
from drawn import SEED
from redis_attack import RedisRange, attack, redis_range
from redis_damages import SPOILS
from redis_servers import server

ATTACKS = 2


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisRange]:
    with redis_range(tmp_path_factory.mktemp("range") / "redis") as made:
        yield made


@pytest.mark.deep
def test_random_damage(at: RedisRange) -> None:
    """No traceback, no page lost or stored twice."""
    for number in range(ATTACKS):
        outcome = attack(at, f"{SEED} {number}")
        assert not outcome.faults, f"seed {SEED!r}, attack {number}: {outcome}"


@pytest.mark.parametrize("name", sorted(SPOILS))
def test_every_kind_changes_a_key(name: str) -> None:
    """A damage that leaves all as it was would prove nothing."""
    with server() as started, started.client() as client:
        client.hset("sitecrawl:{a.0}:urls", mapping={"one": "a record of a URL"})
        before = client.dump("sitecrawl:{a.0}:urls")
        SPOILS[name](client, b"sitecrawl:{a.0}:urls", Random(1))
        assert client.dump("sitecrawl:{a.0}:urls") != before
