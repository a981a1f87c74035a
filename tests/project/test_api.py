"""The public API is what its page lists: all of it is there and typed, and the documents use nothing else."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
from crawling import PROJECT

DOCS = PROJECT / "docs"
LISTED = re.findall(r"`((?:sitecrawl|middlewares|pipelines)\.[\w.]+)`", (DOCS / "api.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", LISTED)
def test_a_public_name(name: str) -> None:
    """It exists, and what can be called says what it takes and gives."""
    module, _, member = name.rpartition(".")
    found = getattr(import_module(module), member)
    called = [found] if inspect.isfunction(found) else []
    if inspect.isclass(found) and found.__module__.startswith(("sitecrawl", "middlewares", "pipelines")):
        called = [one for key, one in vars(found).items() if not key.startswith("_") and inspect.isfunction(one)]
    for function in called:
        signature = inspect.signature(function)
        taken = [one for one in signature.parameters.values() if one.name not in {"self", "cls"}]
        assert all(one.annotation is not one.empty for one in taken), function
        assert signature.return_annotation is not signature.empty, function


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_documents_import_what_is_public(page: Path) -> None:
    """Nobody is told to build on what may change with any commit."""
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
    imports = re.findall(r"^from ((?:sitecrawl|middlewares|pipelines)[\w.]*) import ([\w, ]+)", blocks, re.MULTILINE)
    used = {f"{module}.{name.strip()}" for module, names in imports for name in names.split(",")}
    assert used <= set(LISTED)
