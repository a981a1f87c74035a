"""Signals without PyDispatcher's search for whom to call, and with what.

Of the seven that Scrapy sends for each page, three have no receiver in most crawls, and four have one or two. To find
out whom a signal reaches takes PyDispatcher 26,000 instructions, and as many for each receiver which of the named
values it takes; both stand in tables. So methods of objects are called here, as nearly all receivers are, and all
others by Scrapy.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
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
_ANY: Final = id(dispatcher.Any)


def is_heard(signal: Any, sender: Any) -> bool:
    """Whether anybody is connected to `signal`, or to all signals, of `sender` or of all senders."""
    return bool(_connected(signal, sender))


def _connected(signal: Any, sender: Any) -> list[Sequence[Any]]:
    """References to whom is connected to `signal` or to all signals, of `sender` or of all senders."""
    found: list[Sequence[Any]] = []
    for one in (id(sender), _ANY):
        signals = _connections.get(one)
        if not signals:
            continue
        if references := signals.get(signal):
            found.append(references)
        if dispatcher.Any in signals and (references := signals[dispatcher.Any]):
            found.append(references)
    return found


def _methods(connected: list[Sequence[Any]]) -> list[MethodType] | None:
    """The methods that live, if all are methods of Python's, and each is there once."""
    if len(connected) > 1:
        return None
    methods = []
    for reference in connected[0]:
        if type(reference) is not BoundMethodWeakref:
            return None
        if (method := reference()) is not None:
            if type(method) is not MethodType or type(method.__func__) is not FunctionType:
                return None
            methods.append(method)
    return methods


@lru_cache(maxsize=1024)
def _parameters(function: FunctionType) -> Sequence[str] | None:
    """What a method of this function takes of named values; None for all. (A code would be hashed with all that is
    in it.)
    """
    code = function.__code__
    return None if code.co_flags & CO_VARKEYWORDS else code.co_varnames[1 : code.co_argcount]


def _tell(methods: Sequence[MethodType], named: Mapping[str, Any], quietly: tuple[type[Exception], ...]) -> _Answers:
    """Call each with those of the values that it takes; gives what it gave, or a failure, which is logged."""
    answers: _Answers = []
    for method in methods:
        names = _parameters(method.__func__)
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

    def send_catch_log(self, signal: Any, **named: Any) -> _Answers:
        if not (connected := _connected(signal, named.setdefault("sender", self.sender))):
            return []
        methods = _methods(connected)
        if methods is None or "dont_log" in named:
            return super().send_catch_log(signal, **named)
        answers = _tell(methods, named | {"signal": signal}, (StopDownload,))
        for method, answer in answers:
            if isinstance(answer, Deferred):
                _log("Cannot return deferreds from signal handler: %(receiver)s", method, named)
        return answers

    async def send_catch_log_async(self, signal: Any, **named: Any) -> _Answers:
        """Without a task for each receiver, unless one is a coroutine."""
        if not (connected := _connected(signal, named.setdefault("sender", self.sender))):
            return []
        methods = _methods(connected)
        if methods is None or "dont_log" in named or any(one.__code__.co_flags & CO_COROUTINE for one in methods):
            return await super().send_catch_log_async(signal, **named)
        answers = _tell(methods, named | {"signal": signal}, ())
        return [(method, await _outcome(method, answer, named)) for method, answer in answers]


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
