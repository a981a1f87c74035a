"""`--again`: what failed is run again, each test alone in a process of its own.

A test that passes then is printed as `FLAKY nodeid seed=N` and does not fail the run. One that fails twice does; so
does whatever is no failure of a test: an error of collection, a worker that died, an interrupted run, an error of
pytest's. More failures than `MOST` are no chance, and fail without a second try.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

MOST: Final = 10
"""Tests that are tried again in one run."""

_HANDED_ON: Final = ("hypothesis_profile", "hypothesis_seed", "timeout")
"""Options of the run, by their names in pytest, that the second try has, too."""


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("again") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Again(config))


class Again:
    """A plugin of the process that prints the results."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._failed: dict[str, list[pytest.TestReport]] = {}
        self._final = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.setdefault(report.nodeid, []).append(report)
            self._final |= report.when not in {"setup", "call", "teardown"}  # xdist's word for a worker that died

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._final |= report.failed

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus != pytest.ExitCode.TESTS_FAILED or self._final or self._config.getoption("maxfail"):
            return
        if not 0 < len(self._failed) <= MOST:
            return
        reporter: TerminalReporter = self._config.pluginmanager.getplugin("terminalreporter")
        reporter.write_line("")
        passed = [nodeid for nodeid in self._failed if self._passes(nodeid, reporter)]
        for nodeid in passed:
            self._called_flaky(nodeid, reporter)
        if len(passed) == len(self._failed):
            session.exitstatus = pytest.ExitCode.OK

    def _passes(self, nodeid: str, reporter: TerminalReporter) -> bool:
        """Runs the test alone, and prints how it fails where it does."""
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *self._options()]
        done = subprocess.run(
            [*words, nodeid], cwd=self._config.rootpath, capture_output=True, text=True, check=False
        )
        passes = done.returncode == 0 and re.search(r"^\d+ passed", done.stdout, re.MULTILINE) is not None
        reporter.write_sep("=", f"{nodeid}, alone: {'passed' if passes else 'failed again'}")
        if not passes:
            reporter.write(done.stdout + done.stderr)
        return passes

    def _options(self) -> list[str]:
        given = {name: self._config.getoption(name, None) for name in _HANDED_ON}
        given |= {"config-file": self._config.inipath, "rootdir": self._config.rootpath}
        return [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]

    def _called_flaky(self, nodeid: str, reporter: TerminalReporter) -> None:
        """Takes the failure out of what pytest sums up, and prints it here."""
        for kind in ("failed", "error"):
            left = [report for report in reporter.stats.pop(kind, []) if report.nodeid != nodeid]
            reporter.stats.update({kind: left} if left else {})
        for report in self._failed[nodeid]:
            reporter.write_line("\n".join([report.longreprtext, *(text for _, text in report.sections)]))
        reporter.stats.setdefault("flaky", []).append(self._failed[nodeid][0])
        reporter.write_line(f"FLAKY {nodeid} seed={os.environ.get('PYTHONHASHSEED', 'none')}", red=True)
