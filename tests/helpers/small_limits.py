"""Limits that are no settings, smaller for one test or one crawl."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from waiting import PATIENCE

from sitecrawl.base import limits

VARIABLE: Final = "SMALL_LIMITS"
"""Of the environment of a fork: a JSON object of values by name."""
PATIENT: Final = {"sitecrawl.frontier.urls.pace.LEAST_PATIENCE": PATIENCE}
"""Nothing is put off for its slowness: a machine that has other things to do for half a second would have a page
asked for twice, and later than others.
"""


def make(values: Mapping[str, Any]) -> dict[str, Any]:
    """Give what `values` names another value: limits of `base.limits`, and constants of modules by their dotted
    path. Returns what they had.
    """
    return {name: _set(name, value) for name, value in values.items()}


def _set(name: str, value: Any) -> Any:
    module, _, constant = name.rpartition(".")
    owner, attribute = (import_module(module), constant) if module else (getattr(limits, name), "value")
    before = getattr(owner, attribute)
    object.__setattr__(owner, attribute, value)  # a limit is frozen
    return before


@contextmanager
def small(**values: Any) -> Iterator[None]:
    """The same for a while, in this process."""
    before = make(values)
    try:
        yield
    finally:
        make(before)


def arm(environment: Mapping[str, str]) -> None:
    """As a crawl's environment has them."""
    make(json.loads(environment.get(VARIABLE, "{}")))


def as_variable(values: Mapping[str, Any]) -> dict[str, str]:
    """What a crawl's environment needs."""
    return {VARIABLE: json.dumps(values)} if values else {}
