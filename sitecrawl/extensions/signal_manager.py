"""Signals without PyDispatcher's search for whom to call, and with what.

Of the seven that Scrapy sends for each page, three have no receiver in most crawls, and four have one or two. To find
out whom a signal reaches takes PyDispatcher 26,000 instructions, and as many for each receiver which of the named
values it takes; both stand in tables. So methods of objects are called here, as nearly all receivers are, and all
others by Scrapy.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from inspect import CO_COROUTINE, CO_VARKEYWORDS, isawaitable
from types import FunctionType, MethodType
from typing import Any, Final

from pydispatch import dispatcher
from pydispatch.saferef import BoundMethodWeakref
from scrapy.exceptions import StopDownload
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

_Answers = list[tuple[Any, Any]]

logger: Final = logging.getLogger("scrapy.utils.signal")
"""The one that says in Scrapy what a receiver has raised."""


_connections: Final = dispatcher.connections
_ANY: Final = dispatcher.Any
_ANY_ID: Final = id(_ANY)


_Receiver = tuple[Callable[[], Any], FunctionType, Sequence[str] | None]
"""A method of an object: how to get the object, which may go; the function; what it takes of named values, None for
all.
"""


def is_heard(signal: Any, sender: Any) -> bool:
    """Whether anybody is connected to `signal`, or to all signals, of `sender` or of all senders."""
    return bool(_connected(signal, sender))


def _connected(signal: Any, sender: Any) -> list[list[Any]]:
    """References to whom is connected to `signal` or to all signals, of `sender` or of all senders."""
    found: list[list[Any]] = []
    if signals := _connections.get(id(sender)):
        if references := signals.get(signal):
            found.append(references)
        if references := signals.get(_ANY):
            found.append(references)
    if signals := _connections.get(_ANY_ID):
        found += filter(None, (signals.get(signal), signals.get(_ANY)))
    return found


def _receivers_of(references: Sequence[Any]) -> list[_Receiver] | None:
    """How to call each, if all are methods of Python's."""
    receivers: list[_Receiver] = []
    for reference in references:
        if type(reference) is not BoundMethodWeakref:
            return None
        if (function := reference.weakFunc()) is not None:
            if type(function) is not FunctionType:
                return None
            code = function.__code__
            names = None if code.co_flags & CO_VARKEYWORDS else code.co_varnames[1 : code.co_argcount]
            receivers.append((reference.weakSelf, function, names))
    return receivers


def _tell(receivers: Sequence[_Receiver], named: Mapping[str, Any], quietly: tuple[type[Exception], ...]) -> _Answers:
    """Call each with those of the values that it takes; gives what it gave, or a failure, which is logged."""
    answers: _Answers = []
    for get_self, function, names in receivers:
        if (receiver := get_self()) is None:
            continue
        method = MethodType(function, receiver)
        values = named if names is None else {name: named[name] for name in names if name in named}
        try:
            answer = method(**values)
        except Exception as error:  # noqa: BLE001 - the receiver's
            answer = _failed(method, named, error, quietly)
        answers.append((method, answer))
    return answers


def _failed(method: Any, named: Mapping[str, Any], error: Exception, quietly: tuple[type[Exception], ...]) -> Failure:
    if not isinstance(error, quietly):
        _log("Error caught on signal handler: %(receiver)s", method, named, error)
    return Failure(error)  # type: ignore[no-untyped-call]


def _log(text: str, method: Any, named: Mapping[str, Any], error: Exception | None = None) -> None:
    logger.error(text, {"receiver": method}, exc_info=error, extra={"spider": named.get("spider")})


class Signals(SignalManager):
    """Sends to whom Scrapy's would, in its order and with the same outcome."""

    def __init__(self, sender: Any = dispatcher.Anonymous) -> None:
        super().__init__(sender)
        self._known: dict[Any, tuple[list[Any], list[_Receiver] | None]] = {}
        """By signal, the references that were last connected to it, and whom they lead to."""

    def _receivers(self, signal: Any, connected: list[list[Any]]) -> list[_Receiver] | None:
        """How to call each, if all are methods that hear `signal` in the same way, so that each is there once."""
        if len(connected) > 1:
            return None
        references = connected[0]
        known = self._known.get(signal)
        if known is None or known[0] != references:
            known = self._known[signal] = [*references], _receivers_of(references)
        return known[1]

    def send_catch_log(self, signal: Any, **named: Any) -> _Answers:
        if not (connected := _connected(signal, named.setdefault("sender", self.sender))):
            return []
        receivers = self._receivers(signal, connected)
        if receivers is None or "dont_log" in named:
            return super().send_catch_log(signal, **named)
        named["signal"] = signal
        answers = _tell(receivers, named, (StopDownload,))
        for method, answer in answers:
            if answer is not None and isinstance(answer, Deferred):
                _log("Cannot return deferreds from signal handler: %(receiver)s", method, named)
        return answers

    async def send_catch_log_async(self, signal: Any, **named: Any) -> _Answers:
        """Without a task for each receiver, unless one is a coroutine."""
        if not (connected := _connected(signal, named.setdefault("sender", self.sender))):
            return []
        receivers = self._receivers(signal, connected)
        if receivers is None or "dont_log" in named or _has_coroutine(receivers):
            return await super().send_catch_log_async(signal, **named)
        named["signal"] = signal
        return [(method, await _outcome(method, answer, named)) for method, answer in _tell(receivers, named, ())]


def _has_coroutine(receivers: Sequence[_Receiver]) -> bool:
    return any(function.__code__.co_flags & CO_COROUTINE for _, function, _ in receivers)


async def _outcome(method: Any, answer: Any, named: Mapping[str, Any]) -> Any:
    """What comes of an answer in the end; of a failure the exception."""
    if isinstance(answer, Failure):
        return answer.value
    if answer is None or not (isinstance(answer, Deferred) or isawaitable(answer)):
        return answer
    try:
        return await ensure_awaitable(answer, _warn=global_object_name(method))
    except Exception as error:  # noqa: BLE001 - the receiver's
        return _failed(method, named, error, ()).value
