"""Ports that are held: for the server that is told, and for nobody else."""

from __future__ import annotations

import socket

import pytest
from ports import Port, held_port


def test_a_held_port_is_for_who_is_told_it() -> None:
    """Nobody answers there before a server listens, which one alone may, and may again."""
    with held_port() as port:
        for _ in range(2):
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port))
            with socket.create_server(("127.0.0.1", port)):
                socket.create_connection(("127.0.0.1", port)).close()
                with pytest.raises(OSError, match="in use"):
                    socket.create_server(("127.0.0.1", port))


def test_a_held_port_is_given_to_nobody_else() -> None:
    """Whoever asks for any port, on whichever address, gets another one."""
    with held_port() as port:
        others = [socket.create_server((f"127.0.0.{number % 250 + 1}", 0)) for number in range(500)]
        assert port not in {other.getsockname()[1] for other in others}
        for other in others:
            other.close()


def test_a_port_with_another_above_it() -> None:
    """Both are held."""
    port = Port(above=10_000)
    for held in (port.number, port.number + 10_000):
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", held))
    port.close()
