"""Signals in a shorter way are those of Scrapy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from pydispatch import dispatcher
from scrapy.exceptions import StopDownload
from scrapy.signalmanager import SignalManager
from twisted.internet.defer import Deferred

from sitecrawl.extensions.signalling import Signals, is_heard

SIGNAL = object()
SENDERS: list[object] = []
"""Kept, for PyDispatcher knows each by its address."""


class Receivers:
    """Each notes what it got."""

    def __init__(self) -> None:
        self.got: list[Any] = []

    def all(self, **named: Any) -> str:
        self.got.append(("all", sorted(named)))
        return "all"

    def some(self, item: int, *, sender: Any = None) -> str:
        self.got.append(("some", item, sender))
        return "some"

    def none(self) -> None:
        self.got.append("none")

    def fails(self) -> None:
        raise ValueError("it fails")

    def stops(self) -> None:
        raise StopDownload(fail=False)

    def defers(self) -> Any:
        return Deferred()

    async def later(self, item: int) -> int:
        self.got.append(("begins", item))
        await asyncio.sleep(0)
        self.got.append(("later", item))
        return item + 1

    async def is_cancelled(self) -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    def cancels(self) -> None:
        raise asyncio.CancelledError

    async def fails_later(self) -> None:
        await asyncio.sleep(0)
        raise ValueError("it fails later")

    def __call__(self, item: int) -> None:
        self.got.append(("called", item))


def function(item: int) -> int:
    return item


SETS = (
    (),
    ("all", "some", "none"),
    ("fails", "all"),
    ("stops", "none"),
    ("defers",),
    ("function", "itself", "some"),
)


@pytest.fixture
def sender() -> Iterator[object]:
    sender = object()
    yield sender
    for receiver in list(dispatcher.getAllReceivers(sender, SIGNAL)):
        dispatcher.disconnect(receiver, SIGNAL, sender)


def connected(manager: SignalManager, names: tuple[str, ...]) -> Receivers:
    receivers = Receivers()
    SENDERS.append(manager.sender)
    for name in names:
        receiver = {"function": function, "itself": receivers}.get(name) or getattr(receivers, name)
        manager.connect(receiver, SIGNAL)
    return receivers


def in_words(answers: list[tuple[Any, Any]]) -> list[tuple[str, str]]:
    return [
        (getattr(receiver, "__name__", "itself"), f"{type(answer).__name__} {getattr(answer, 'value', answer)!r}")
        for receiver, answer in answers
    ]


def is_cancelled(answer: Any) -> bool:
    """Scrapy gives that alone, without its receiver."""
    return isinstance(answer, asyncio.CancelledError)


@pytest.mark.parametrize("names", SETS)
def test_the_same_answers(names: tuple[str, ...], caplog: pytest.LogCaptureFixture) -> None:
    """Who receives, in which order, with which arguments, what comes back and what is logged, is as in Scrapy."""
    found = []
    for kind in (SignalManager, Signals):
        manager = kind(object())
        receivers = connected(manager, names)
        caplog.clear()
        answers = in_words(manager.send_catch_log(SIGNAL, item=1, spider=None))
        log = [(record.name, record.levelno, record.msg, record.exc_info is None) for record in caplog.records]
        if "defers" in names:
            answers = [(name, "") for name, _ in answers]
        found.append((answers, [got for got in receivers.got if got[0] != "some"], log))
    assert found[0] == found[1]
    assert len(found[0][0]) == len(names)


@pytest.mark.parametrize(
    "names",
    [
        *SETS[:3],
        ("later", "all", "fails_later", "none"),
        ("fails", "later"),
        ("none", "later", "is_cancelled", "all"),
        ("all", "cancels", "none"),
    ],
)
def test_the_same_answers_later(names: tuple[str, ...], caplog: pytest.LogCaptureFixture) -> None:
    """So it is with receivers that may be asynchronous; errors are themselves there, and no failures."""
    found = []
    for kind in (SignalManager, Signals):
        manager = kind(object())
        receivers = connected(manager, names)
        caplog.clear()

        async def send(manager: SignalManager = manager) -> list[tuple[Any, Any]]:
            return await manager.send_catch_log_async(SIGNAL, item=1, spider=None)

        given: list[Any] = asyncio.run(send())
        answers = in_words([one for one in given if isinstance(one, tuple) and not is_cancelled(one[1])])
        log = [(record.name, record.levelno, record.msg) for record in caplog.records if record.name != "asyncio"]
        assert len(given) == len(names)
        found.append((answers, [got[0] for got in receivers.got], sorted(log)))
    assert found[0] == found[1]


def test_who_is_gone(sender: object) -> None:
    """Receivers are held weakly: one that is gone receives nothing, and nobody hears a signal then."""
    manager = Signals(sender)
    receivers = connected(manager, ("all",))
    assert is_heard(manager, SIGNAL)
    del receivers
    assert manager.send_catch_log(SIGNAL) == []
    assert not is_heard(manager, SIGNAL)


def test_who_hears_all(sender: object) -> None:
    """One who is connected to any sender hears this one's, after those of its own, and once."""
    manager, receivers = Signals(sender), Receivers()
    dispatcher.connect(receivers.all, SIGNAL)
    try:
        manager.connect(receivers.none, SIGNAL)
        manager.connect(receivers.all, dispatcher.Any)
        assert [answer for _, answer in manager.send_catch_log(SIGNAL)] == [None, "all"]
    finally:
        dispatcher.disconnect(receivers.all, SIGNAL)
        dispatcher.disconnect(receivers.all, dispatcher.Any, sender)


def test_errors_that_are_no_news(caplog: pytest.LogCaptureFixture) -> None:
    """Those that the sender names are not logged."""
    for kind in (SignalManager, Signals):
        manager = kind(object())
        receivers = connected(manager, ("fails",))
        with caplog.at_level(logging.ERROR):
            assert len(manager.send_catch_log(SIGNAL, dont_log=ValueError)) == 1
        assert not caplog.records
        del receivers
