"""Databases without tables, of each kind that runs here."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from mariadb_server import MariaDb
from postgres_server import Postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    # Not pytest's temporary directory: `nobody` may not enter it, and a socket's path must be short.
    with tempfile.TemporaryDirectory(prefix="pg") as name:
        Path(name).chmod(0o755)
        server = Postgres(Path(name))
        yield server
        server.stop()


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDb]:
    with tempfile.TemporaryDirectory(prefix="my") as name:
        Path(name).chmod(0o755)
        server = MariaDb(Path(name))
        yield server
        server.stop()


@pytest.fixture(
    params=["sqlite", *(pytest.param(name, marks=pytest.mark.deep) for name in ("postgresql", "mariadb"))]
)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'pages.db'}"
    if request.param == "mariadb":
        maria: MariaDb = request.getfixturevalue("mariadb")
        maria.execute("DROP DATABASE IF EXISTS crawls", "CREATE DATABASE crawls")
        return maria.url
    server: Postgres = request.getfixturevalue("postgres")
    with psycopg.connect(server.dsn) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    return server.url
