"""What a person has done to hosts while a crawl runs, whoever has them: blocked, set free, asked again."""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.disk import DiskFrontier
from sitecrawl.frontier.hosts.host import Host
from sitecrawl.frontier.hosts.sections import Section

logger = logging.getLogger(__name__)

BLOCK: Final = "block"
"""Fetch nothing more of a host, or of one of its sections."""
RELEASE: Final = "release"
"""Hold it back no more."""
RETRY: Final = "retry"
"""Ask the hosts again that were given up."""


class Act(NamedTuple):
    """One of these, on the host of that name, or on the section of that shape."""

    name: str
    host: str = ""
    """Empty where it is for all hosts."""
    shape: str = ""
    """Empty where it is for the whole host."""

    def do(self, frontier: DiskFrontier) -> str:
        """Returns what was done, in words; empty if that is nothing. Raises `OptionError` for what cannot be."""
        if self.name == RETRY:
            urls = frontier.retry_given_up()
            return f"{urls:,} URLs of hosts that never answered are tried again" if urls else ""
        if self.name == BLOCK:
            frontier.block(*self._unit(frontier))
            return f"Blocked: {self.unit}"
        if self.name == RELEASE:
            frontier.vouch(*self._unit(frontier))
            return f"Set free: {self.unit}"
        raise OptionError(f"There is no act {self.name!r}")

    def carry_out(self, frontier: DiskFrontier) -> None:
        """As `do`, where nobody waits for an answer: it is logged."""
        try:
            if done := self.do(frontier):
                logger.info("By hand: %s", done)
        except OptionError as error:
            logger.warning("%s cannot be done, as was wanted by hand: %s", self.name.capitalize(), error)

    def check(self, frontier: DiskFrontier, *, is_here: bool) -> None:
        """Raises `OptionError` for what cannot be. `is_here`: whether `frontier` has the sites of the host."""
        if self.name == BLOCK:
            frontier.check_block()
        if is_here:
            self._unit(frontier)

    @property
    def unit(self) -> str:
        """What it is done to, in words."""
        return self.host + self.shape

    def _unit(self, frontier: DiskFrontier) -> tuple[Host, Section | None]:
        """The host, in memory from here on, and its section."""
        hosts = frontier.hosts
        host = hosts.get(hosts.key_of(self.host))
        if host is None:
            raise OptionError(f"The crawl knows no host {self.host!r}")
        if not self.shape:
            return host, None
        for section in host.sections.values():
            if section.shape == self.shape:
                return host, section
        raise OptionError(f"{self.host} has no section {self.shape!r}")
