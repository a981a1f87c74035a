"""Runs a scrapy command that needs no crawler in this process: a second less than in one of its own."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

import pytest
from crawling import PROJECT
from scrapy.cmdline import execute
from scrapy.settings import Settings
from scrapy.utils.reactor import is_reactor_installed


def command(*words: str, cwd: Path = PROJECT) -> CompletedProcess[str]:
    """`scrapy` with `words`, to its end; none that installs a reactor, which all tests after it would have."""
    written, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(written, "utf-8", newline="")
    with _project(cwd), redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as left:
        execute(["scrapy", *words], _settings())
    assert isinstance(left.value.code, int)
    assert not is_reactor_installed(), words
    out.flush()
    printed = written.getvalue().decode("utf-8", "replace")
    return CompletedProcess(words, left.value.code, printed, err.getvalue())


def _settings() -> Settings:
    settings = Settings()
    settings.setmodule("sitecrawl.settings", priority="project")
    return settings


@contextmanager
def _project(cwd: Path) -> Iterator[None]:
    with chdir(cwd), mock.patch.dict(os.environ, {"SCRAPY_SETTINGS_MODULE": "sitecrawl.settings"}):
        yield
