"""Expressions that are compiled when they are first used."""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import walk_packages

import pytest

import sitecrawl
from sitecrawl.base.expressions import _Later, expression


def test_an_expression_does_what_a_compiled_one_does() -> None:
    """Its methods, and its flags."""
    found, compiled = expression(r"b(.)", re.IGNORECASE), re.compile(r"b(.)", re.IGNORECASE)
    assert found.sub(r"\1", "aBc") == compiled.sub(r"\1", "aBc") == "ac"
    assert [found.pattern, found.flags, found.groups] == [compiled.pattern, compiled.flags, compiled.groups]
    assert found.search("x") is None


def test_nothing_is_compiled_before_it_is_used() -> None:
    """Not even what cannot be."""
    wrong = expression("(")
    with pytest.raises(re.error):
        wrong.search("")


_NO_CONSTANTS = ("sitecrawl.console.commands", "sitecrawl.plugins", "sitecrawl.settings")
"""Modules that do something when they are imported, or need what is an extra."""


def test_each_constant_can_be_compiled() -> None:
    """Those of all modules: what is wrong with one is not left to the crawl that uses it first."""
    names = [name for _, name, _ in walk_packages(sitecrawl.__path__, "sitecrawl.")]
    constants = [vars(import_module(name)) for name in names if not name.startswith(_NO_CONSTANTS)]
    expressions = {id(value): value for module in constants for value in module.values() if isinstance(value, _Later)}
    assert len(expressions) > 70
    assert all(value.pattern is not None for value in expressions.values())
