"""The parts of a worker by themselves: no Redis, no network."""

from __future__ import annotations

import pytest
import redis

from sitecrawl.cluster.connection import is_transient
from sitecrawl.cluster.seedqueue import fields_of


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (" http://a.example/ \n", {"url": "http://a.example/"}),
        ('{"url": "http://a.example/", "meta": {"n": 1}}', {"url": "http://a.example/", "meta": {"n": 1}}),
        ('{"url": 7}', {}),
        ('{"meta": {}}', {}),
        ("{broken", {}),
        ("[1]", {"url": "[1]"}),
    ],
)
def test_pushed_seed(text: str, fields: dict[str, object]) -> None:
    """A URL, or scrapy-redis' JSON; of anything else nothing is made."""
    assert fields_of(text) == fields


@pytest.mark.parametrize(
    ("error", "goes"),
    [
        (redis.ConnectionError("gone"), True),
        (redis.TimeoutError("slow"), True),
        (redis.ResponseError("@user_script: 25: -OOM command not allowed when used memory > 'maxmemory'."), True),
        (redis.ResponseError("MISCONF Redis is configured to save RDB snapshots"), True),
        (redis.ReadOnlyError("You can't write against a read only replica"), True),
        (redis.ResponseError("@user_script: 12: attempt to index a nil value"), False),
        (redis.AuthenticationError("invalid username-password pair"), False),
    ],
)
def test_what_is_waited_for(error: Exception, goes: bool) -> None:
    """A Redis that is away, full or loading is waited for; a wrong password or a broken script is not."""
    assert is_transient(error) is goes
