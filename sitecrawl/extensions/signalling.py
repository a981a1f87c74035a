"""Scrapy's signals, sent in a shorter way.

PyDispatcher looks for receivers in four places, and at the code of each for the arguments that it takes; Scrapy
starts a task for each that may be asynchronous. A page sends eight signals, of which most are heard by nobody. Who
receives what, in which order, with which arguments, and what becomes of an error, is the same here; who is connected
while a signal is sent receives the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import isawaitable
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

from pydispatch import dispatcher
from pydispatch.dispatcher import WEAKREF_TYPES
from pydispatch.robustapply import robustApply
from scrapy.exceptions import StopDownload
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.python import global_object_name
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

Receiver = Callable[..., Any]
Errors = tuple[type[BaseException], ...]

_TAKES_ALL: Final = 8
"""Of a code's flags: it has `**named`."""

logger = logging.getLogger("scrapy.utils.signal")


class Signals(SignalManager):
    """A crawler's."""

    def send_catch_log(self, signal: Any, **named: Any) -> list[tuple[Any, Any]]:
        sender = named.setdefault("sender", self.sender)
        receivers = _receivers(sender, signal)
        if not receivers:
            return []
        silent = (*_errors(named.pop("dont_log", ())), StopDownload)
        named["signal"] = signal
        return [(receiver, _answer(receiver, silent, named)) for receiver in receivers]

    async def send_catch_log_async(self, signal: Any, **named: Any) -> list[tuple[Any, Any]]:
        receivers = _receivers(named.setdefault("sender", self.sender), signal)
        silent = _errors(named.pop("dont_log", ()))
        told, found = named | {"signal": signal}, list[Any]()
        for at, receiver in enumerate(receivers):
            answer = _answer_or_more(receiver, silent, told)
            if isinstance(answer, _Late):  # the others begin when it has begun
                rest = (_come(one, silent, told) for one in receivers[at + 1 :])
                found += await asyncio.gather(answer.come(silent, told), *rest, return_exceptions=True)
                break
            found.append(answer)
        else:
            if receivers:  # who waits for signals has others' turns come in between: two ends of a crawl would meet
                await asyncio.sleep(0)
        return list(zip(receivers, found, strict=True))


def is_heard(signals: SignalManager, signal: Any) -> bool:
    """Whether there is anybody to receive it."""
    return bool(_receivers(signals.sender, signal))


class _Late:
    """What an asynchronous receiver answers."""

    def __init__(self, receiver: Receiver, answer: Any) -> None:
        self._receiver, self._answer = receiver, answer

    async def come(self, silent: Errors, named: Mapping[str, Any]) -> Any:
        try:
            return await ensure_awaitable(self._answer, _warn=global_object_name(self._receiver))
        except silent as error:
            return error
        except Exception as error:  # noqa: BLE001 - as Scrapy
            _log(self._receiver, named)
            return error


async def _come(receiver: Receiver, silent: Errors, named: Mapping[str, Any]) -> Any:
    answer = _answer_or_more(receiver, silent, named)
    return await answer.come(silent, named) if isinstance(answer, _Late) else answer


def _answer(receiver: Receiver, silent: Errors, named: Mapping[str, Any]) -> Any:
    try:
        answer = _call(receiver, named)
    except silent:
        return Failure()  # type: ignore[no-untyped-call]
    except Exception:  # noqa: BLE001 - as Scrapy
        _log(receiver, named)
        return Failure()  # type: ignore[no-untyped-call]
    if answer is not None and isinstance(answer, Deferred):
        logger.error(
            "Cannot return deferreds from signal handler: %(receiver)s",
            {"receiver": receiver},
            extra={"spider": named.get("spider")},
        )
    return answer


def _answer_or_more(receiver: Receiver, silent: Errors, named: Mapping[str, Any]) -> Any:
    try:
        answer = _call(receiver, named)
    except asyncio.CancelledError as error:  # as `gather` does
        return error
    except silent as error:
        return error
    except Exception as error:  # noqa: BLE001 - as Scrapy
        _log(receiver, named)
        return error
    is_late = answer is not None and (isinstance(answer, Deferred) or isawaitable(answer))
    return _Late(receiver, answer) if is_late else answer


def _log(receiver: Receiver, named: Mapping[str, Any]) -> None:
    logger.error(
        "Error caught on signal handler: %(receiver)s",
        {"receiver": receiver},
        exc_info=True,  # noqa: LOG014 - called where one is handled
        extra={"spider": named.get("spider")},
    )


def _errors(dont_log: Any) -> Errors:
    if dont_log == ():  # nearly always
        return ()
    return tuple(dont_log) if isinstance(dont_log, Sequence) else (dont_log,)


def _receivers(sender: Any, signal: Any) -> list[Receiver]:
    """Those that are alive, each once; those of this very sender and signal come first."""
    own = dispatcher.connections.get(id(sender), {})
    if id(dispatcher.Any) in dispatcher.connections or dispatcher.Any in own:
        return list(dispatcher.liveReceivers(dispatcher.getAllReceivers(sender, signal)))
    if not (found := own.get(signal)):
        return []
    alive = [one() if isinstance(one, WEAKREF_TYPES) else one for one in found]
    return [receiver for receiver in alive if receiver is not None]


def _call(receiver: Receiver, named: Mapping[str, Any]) -> Any:
    """With the arguments that it takes."""
    if isinstance(receiver, MethodType) and isinstance(receiver.__func__, FunctionType):
        names = _names(receiver.__func__.__code__, 1)
    elif isinstance(receiver, FunctionType):
        names = _names(receiver.__code__, 0)
    else:
        return robustApply(receiver, **named)
    return receiver(**named) if names is None else receiver(**{name: named[name] for name in names if name in named})


@lru_cache(maxsize=1 << 10)
def _names(code: CodeType, first: int) -> tuple[str, ...] | None:
    """Arguments from the one at `first` on; None for whatever there is."""
    return None if code.co_flags & _TAKES_ALL else code.co_varnames[first : code.co_argcount]
