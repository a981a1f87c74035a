"""What a process may open is shared between connections and files."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import resource, sys
from sitecrawl.base import descriptors
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
print(descriptors._limit(), descriptors.for_database(), descriptors.for_connections())
"""


@pytest.mark.parametrize(
    ("soft", "hard", "shares"),
    [
        (256, 256, (256, 64, 128)),
        (64, 64, (64, 16, 16)),
        (128, 4096, (4096, 256, 3776)),
    ],
)
def test_shares(soft: int, hard: int, shares: tuple[int, int, int]) -> None:
    """The soft limit is raised to the hard one, and the connections leave room for the files."""
    command = [sys.executable, "-c", CODE, str(soft), str(hard)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert tuple(map(int, done.stdout.split())) == shares
    assert shares[1] + shares[2] < shares[0]
