"""The questions to a stored crawl over HTTP, for programs: `GET /search?words=solar`, an object of JSON back.

Every request needs the token (`Authorization: Bearer TOKEN`, RFC 6750). Questions only read, and are asked one at a
time: each may take seconds of a core.
"""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from sitecrawl.base.errors import OptionError, SitecrawlError
from sitecrawl.plugins.agent.stored_crawl import StoredCrawl

_KINDS: Final[Mapping[str, Callable[[str], Any]]] = {"str": str, "int": int}


def app_of(crawl: StoredCrawl, token: str) -> Starlette:
    asked = Lock()
    known = ", ".join(f"/{name}" for name in crawl.questions)

    async def refuse(_: Request, error: Exception) -> JSONResponse:
        """Another address, or another method than GET."""
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": f"{error.detail}: GET one of {known}"}, error.status_code, error.headers)

    routes = [_route(name, one, token, asked) for name, one in crawl.questions.items()]
    return Starlette(routes=routes, exception_handlers={HTTPException: refuse})


def _route(name: str, question: Callable[..., dict[str, Any]], token: str, asked: Lock) -> Route:
    parameters = inspect.signature(question).parameters

    def answer(given: Mapping[str, str]) -> dict[str, Any]:
        """Raises `OptionError` for parameters that the question does not have, or that are no numbers."""
        values: dict[str, Any] = {}
        for key, value in given.items():
            if key not in parameters:
                raise OptionError(f"{name} has no {key!r}, but {', '.join(parameters)}")
            try:
                values[key] = _KINDS[str(parameters[key].annotation)](value)
            except ValueError as error:
                raise OptionError(f"{key}: {value!r} is no number") from error
        missing = [key for key, one in parameters.items() if one.default is one.empty and key not in values]
        if missing:
            raise OptionError(f"{name} needs {', '.join(missing)}")
        with asked:
            return question(**values)

    async def respond(request: Request) -> JSONResponse:
        given = request.headers.get("authorization", "").encode()
        if not secrets.compare_digest(given, f"Bearer {token}".encode()):
            return JSONResponse({"error": "the token is missing or wrong"}, 401, {"WWW-Authenticate": "Bearer"})
        try:
            return JSONResponse(await run_in_threadpool(answer, dict(request.query_params)))
        except SitecrawlError as error:
            return JSONResponse({"error": str(error)}, 400 if isinstance(error, OptionError) else 404)

    return Route(f"/{name}", respond, methods=["GET"])
