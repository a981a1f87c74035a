"""What a person has done to hosts while a crawl runs, whoever has them: blocked, set free, asked again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from sitecrawl.base.errors import OptionError
from sitecrawl.frontier.dispatcher import Dispatcher
from sitecrawl.frontier.forms.evidence import State
from sitecrawl.frontier.forms.forms import Forms
from sitecrawl.frontier.judge.trap_judge import TrapJudge
from sitecrawl.frontier.urls.host import Host
from sitecrawl.frontier.urls.sections import Section
from sitecrawl.frontier.urls.tables import HostTable
from sitecrawl.frontier.urls.trap_state import Reason
from sitecrawl.frontier.urls.url_states import UrlStates

logger = logging.getLogger(__name__)

BLOCK: Final = "block"
"""Fetch nothing more of a host, or of one of its sections."""
RELEASE: Final = "release"
"""Hold it back no more."""


class ByHand:
    """Operator actions on a frontier."""

    def __init__(
        self,
        *,
        dispatcher: Dispatcher,
        hosts: HostTable,
        states: UrlStates,
        judge: TrapJudge,
        forms: Forms,
        clock: Callable[[], float],
        keeps_levels: bool,
    ) -> None:
        self._dispatcher = dispatcher
        self._hosts = hosts
        self._states = states
        self._judge = judge
        self._forms = forms
        self._clock = clock
        self.keeps_levels = keeps_levels
        """Whether the order finishes each level before the next."""

    def retry_given_up(self) -> int:
        """Ask the hosts again that were given up, whether they ever answered or not; gives the number of URLs that
        had failed, and are queued again.
        """
        hosts = list(self._states.retry_given_up())
        for host in dict.fromkeys(hosts):
            host.failures, host.silent = 0, {}
        self._dispatcher.place(hosts)
        self._dispatcher.silent_hosts.hurry(self._clock())
        return len(hosts)

    def block(self, host: Host, section: Section | None = None) -> None:
        """Fetch nothing more of `host`, or of one of its sections. Raises `OptionError` where all must be fetched."""
        self.check_block()
        self._judge.hold(host, section, Reason.BLOCKED)
        self._changed(host, section)

    def check_block(self) -> None:
        """Raise `OptionError` if this order cannot block anything."""
        if self.keeps_levels:
            raise OptionError(
                "With a depth limit no level may be left before all of it is done, so nothing of it can be blocked"
            )

    def vouch(self, host: Host, section: Section | None = None) -> None:
        """Release `host`, or one of its sections, for good: an operator overrules the judge."""
        if section is not None and (learnt := self._forms.learners.rule_of(host, section)) is not None:
            self._forms.order(host, learnt, State.REFUSED)
        else:
            self._judge.vouch(host, section)
        self._changed(host, section)

    def _changed(self, host: Host, section: Section | None) -> None:
        self._hosts.changed(host, section)
        self._dispatcher.ended(host)

    def unit(self, name: str, shape: str = "") -> tuple[Host, Section | None]:
        """The host of that name, in memory from here on, and its section of that shape, if one is named. Raises
        `OptionError`.
        """
        host = self._hosts.get(self._hosts.key_of(name))
        if host is None:
            raise OptionError(f"The crawl knows no host {name!r}")
        if not shape:
            return host, None
        for section in host.sections.values():
            if section.shape == shape:
                return host, section
        raise OptionError(f"{name} has no section {shape!r}")


class Act(NamedTuple):
    """One of these, on the host of that name, or on the section of that shape."""

    name: str
    host: str
    shape: str = ""
    """Empty where it is for the whole host."""

    def do(self, hand: ByHand) -> str:
        """Do it, and return in words what was done. Raises `OptionError` for what cannot be done."""
        if self.name == BLOCK:
            hand.block(*hand.unit(self.host, self.shape))
            return f"Blocked: {self.unit}"
        if self.name == RELEASE:
            hand.vouch(*hand.unit(self.host, self.shape))
            return f"Set free: {self.unit}"
        raise OptionError(f"There is no act {self.name!r}")

    def carry_out(self, hand: ByHand) -> None:
        """Like `do`, but log the result."""
        try:
            logger.info("By hand: %s", self.do(hand))
        except OptionError as error:
            logger.warning("%s cannot be done, as was wanted by hand: %s", self.name.capitalize(), error)

    def check(self, hand: ByHand, *, is_here: bool) -> None:
        """Raises `OptionError` for what cannot be. `is_here`: whether `hand` has the sites of the host."""
        if self.name == BLOCK:
            hand.check_block()
        if is_here:
            hand.unit(self.host, self.shape)

    @property
    def unit(self) -> str:
        """The host or section that it acts on, in words."""
        return self.host + self.shape
