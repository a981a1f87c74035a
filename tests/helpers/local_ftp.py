"""An FTP server on loopback for tests: files from a dict, and every fault that a server may have."""

from __future__ import annotations

import posixpath
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Final, cast

from threaded import Threaded
from waiting import PATIENCE

SILENCE: Final = "silence"
"""The reply of a server that says nothing."""


@dataclass
class Faults:
    """What the server does otherwise."""

    greeting: bytes = b"220 Ready"
    busy: int = 0
    """So many connections have to come again."""
    replies: Mapping[str, str] = field(default_factory=dict)
    """Of whole commands, or of their verbs; an empty one ends the connection."""
    pasv_address: str = ""
    """What it says to be its address."""
    listings: Mapping[str, Iterable[bytes]] = field(default_factory=dict)
    """What it sends as the listing of a folder."""


class LocalFtp(Threaded):
    """Serves `files`, by their paths, until `close`; names are bytes in Latin-1. `links`: symbolic ones to folders.

    With `mlsd` it has MLSD and knows which folder is which; without, it lists them as `ls -l` does.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        *,
        links: Mapping[str, str] | None = None,
        mlsd: bool = True,
        faults: Faults | None = None,
        address: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.files = files
        self.links = links or {}
        self.mlsd = mlsd
        self.faults = faults or Faults()
        self.address = address
        self.commands: list[str] = []
        """All that it was told, in order."""
        self.connections = 0
        self._server = (_ServerOnIPv6 if ":" in address else _Server)((address, port), _Handler)
        self._server.ftp = self
        self.port = self._server.server_address[1]
        self.root = f"ftp://[{address}]:{self.port}" if ":" in address else f"ftp://{address}:{self.port}"
        self.serve(self._server)

    def verbs(self) -> list[str]:
        return [command.partition(" ")[0] for command in self.commands]

    def real(self, path: str) -> str:
        """Where `path` leads, links followed."""
        found = "/"
        for part in path.split("/"):
            found = posixpath.normpath(posixpath.join(found, part))
            found = self.links.get(found, found)
        return found

    def is_folder(self, path: str) -> bool:
        return path == "/" or any(name.startswith(f"{path}/") for name in (*self.files, *self.links))

    def lines(self, path: str) -> Iterable[bytes]:
        """The listing of the folder at the real `path`."""
        if path in self.faults.listings:
            yield from self.faults.listings[path]
            return
        start = len(path.rstrip("/")) + 1
        names = {
            name[start:].partition("/")[0]: None for name in (*self.files, *self.links) if self._is_in(name, path)
        }
        for name in names:
            yield f"{self._line(posixpath.join(path, name), name)}\r\n".encode("latin-1")

    def _is_in(self, name: str, path: str) -> bool:
        return name.startswith(path.rstrip("/") + "/")

    def _line(self, path: str, name: str) -> str:
        if self.mlsd:
            is_folder = self.is_folder(self.real(path))
            size = "" if is_folder else f"size={len(self.files[path])};"
            return f"type={'dir' if is_folder else 'file'};{size}modify=20261107120000; {name}"
        if path in self.links:
            return f"lrwxrwxrwx   1 ftp      ftp             4 Nov  7 12:00 {name} -> {self.links[path]}"
        if self.is_folder(path):
            return f"drwxr-xr-x   2 ftp      ftp          4096 Nov  7  2025 {name}"
        return f"-rw-r--r--   1 ftp      ftp      {len(self.files[path]):8} Nov  7 12:00 {name}"


class _Server(ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64
    ftp: LocalFtp


class _ServerOnIPv6(_Server):
    address_family = socket.AF_INET6


class _Handler(StreamRequestHandler):
    """One connection for commands."""

    def setup(self) -> None:
        super().setup()
        self.ftp = cast(_Server, self.server).ftp
        self.folder = "/"
        self.open_data: Callable[[], socket.socket] | None = None
        self.listening: socket.socket | None = None
        self.ftp.connections += 1

    def finish(self) -> None:
        self.stop_listening()
        with suppress(OSError):
            super().finish()

    def stop_listening(self) -> None:
        if self.listening is not None:
            self.listening.close()

    def handle(self) -> None:
        with suppress(OSError):
            if self.ftp.connections <= self.ftp.faults.busy:
                self.say(b"421 Too many of you")
                return
            self.say(self.ftp.faults.greeting)
            while line := self.rfile.readline():
                command = line.rstrip(b"\r\n").decode("latin-1")
                self.ftp.commands.append(command)
                if not self.obey(command):
                    return

    def say(self, reply: bytes) -> None:
        self.wfile.write(reply + b"\r\n")

    def obey(self, command: str) -> bool:
        """Whether to go on."""
        verb, _, argument = command.partition(" ")
        replies = self.ftp.faults.replies
        planned = replies.get(command, replies.get(verb))
        if planned is not None:
            if planned not in {"", SILENCE}:
                self.say(planned.encode("latin-1"))
            return planned != ""
        answer: Callable[[str], str] = getattr(self, f"do_{verb.lower()}", lambda _: "502 No such command")
        self.say(answer(argument).encode("latin-1"))
        return verb != "QUIT"

    def at(self, path: str) -> str:
        return self.ftp.real(posixpath.join(self.folder, path))

    def do_user(self, _: str) -> str:
        return "331 Your word"

    def do_pass(self, _: str) -> str:
        return "230-Welcome\r\n 230 is no end\r\n230 Be welcome"

    def do_type(self, _: str) -> str:
        return "200 So be it"

    def do_quit(self, _: str) -> str:
        return "221 Bye"

    def do_feat(self, _: str) -> str:
        return "211-Features\r\n MLST type*;size*;modify*;unique*;\r\n211 End" if self.ftp.mlsd else "502 None"

    def do_pwd(self, _: str) -> str:
        return f'257 "{self.folder}"'

    def do_mlst(self, _: str) -> str:
        return f"250-Here\r\n type=dir;unique={self.folder.encode().hex()}; /\r\n250 End"

    def do_cwd(self, path: str) -> str:
        if not self.ftp.is_folder(self.at(path)):
            return "550 No such folder"
        self.folder = self.at(path)
        return "250 Done"

    def do_pasv(self, _: str) -> str:
        port = self.listen()
        host = (self.ftp.faults.pasv_address or self.ftp.address).replace(".", ",")
        return f"227 Entering passive mode ({host},{port >> 8},{port & 255})"

    def do_epsv(self, _: str) -> str:
        return f"229 Entering extended passive mode (|||{self.listen()}|)"

    def listen(self) -> int:
        self.stop_listening()
        family = cast(_Server, self.server).address_family
        self.listening = server = socket.create_server((self.ftp.address, 0), family=family)
        server.settimeout(PATIENCE)
        self.open_data = lambda: server.accept()[0]
        port: int = server.getsockname()[1]
        return port

    def do_list(self, _: str) -> str:
        return self.send(self.ftp.lines(self.folder))

    do_mlsd = do_list

    def do_retr(self, path: str) -> str:
        data = self.ftp.files.get(self.at(path))
        if data is None:
            return "550 No such file"
        return self.send(data[at : at + 65536] for at in range(0, len(data), 65536))

    def send(self, parts: Iterable[bytes]) -> str:
        assert self.open_data is not None
        self.say(b"150 Here it comes")
        try:
            with closing(self.open_data()) as data:
                for part in parts:
                    data.sendall(part)
        except OSError:
            return "426 You have gone"
        return "226 That was all"
