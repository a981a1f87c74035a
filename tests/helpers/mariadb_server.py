"""A real MariaDB: the system's, for PyPI has none. Without one a test is skipped, or fails (`required`)."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pymysql
from required import lacking
from waiting import PATIENCE, until

NOBODY = 65534
PROGRAMS = ("mariadbd", "mariadb-install-db")


def found() -> list[str]:
    """The paths of MariaDB's programs; without them the test is skipped, or fails where they must be."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"
    paths = [shutil.which(name, path=path) for name in PROGRAMS]
    if None in paths:
        missing = f"{' or '.join(PROGRAMS)} is missing (Debian: apt-get install mariadb-server)"
        lacking("MARIADB", f"there is no MariaDB: {missing}")
    return [path for path in paths if path is not None]


class MariaDb:
    """A server in `directory`, which anybody may enter and whose path is short, on a socket alone.

    As root it runs as `nobody`: MariaDB refuses to run as root.
    """

    def __init__(self, directory: Path) -> None:
        server, install = found()
        self.directory = directory
        self._user = NOBODY if os.geteuid() == 0 else None
        own = directory / "tmp"  # a server that starts clears it of all temporary tables, another server's too
        own.mkdir()
        if self._user is not None:
            os.chown(directory, NOBODY, NOBODY)
            os.chown(own, NOBODY, NOBODY)
        options = [
            "--no-defaults", f"--datadir={directory / 'data'}", f"--tmpdir={own}",
            # A thousand flushes otherwise, which a slow disk makes minutes of; and some kernels' io_uring has hung.
            "--loose-debug-no-sync", "--loose-innodb-use-native-aio=0",
        ]  # fmt: skip
        log = directory / "log"
        with log.open("ab") as out:
            done = subprocess.run(
                [install, *options, "--auth-root-authentication-method=normal", "--skip-test-db"],
                user=self._user, cwd=directory, stdout=out, stderr=out, check=False, timeout=PATIENCE,
            )  # fmt: skip
            assert done.returncode == 0, f"MariaDB: {log.read_text()}"
            self._process = subprocess.Popen(
                [
                    server, *options, f"--socket={self._socket}", "--skip-networking",
                    f"--pid-file={directory / 'pid'}", "--innodb-flush-log-at-trx-commit=0",
                    "--innodb-buffer-pool-size=32M",
                ],
                user=self._user, cwd=directory, stdout=out, stderr=out,
            )  # fmt: skip
        until(Path(self._socket).exists, lambda: f"MariaDB: {log.read_text()}")  # made when it answers

    @property
    def _socket(self) -> str:
        return str(self.directory / "s")

    @property
    def url(self) -> str:
        return f"mysql+pymysql://root@localhost/crawls?unix_socket={self._socket}&charset=utf8mb4"

    def execute(self, *statements: str) -> None:
        connection = pymysql.connect(user="root", unix_socket=self._socket)
        with connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def stop(self) -> None:
        self._process.kill()  # its data goes as well
        self._process.wait(timeout=PATIENCE)
