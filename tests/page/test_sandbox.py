"""What a process behind its fences can no longer do, tried by one that is behind them."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Collection

import pytest
from crawling import environment
from waiting import PATIENCE

LINUX = sys.platform == "linux"
TRIED = """
import ctypes, errno, json, mmap, os, signal, socket
from sitecrawl.page import sandbox
{before}
parent, connected, other = os.getppid(), *socket.socketpair()
system = ctypes.CDLL(None, use_errno=True)
def trace():
    if system.ptrace(16, parent, 0, 0):
        raise OSError(ctypes.get_errno(), "ptrace")
def child():
    if os.fork() == 0:
        os._exit(0)
attempts = {{
    "open": lambda: open("/etc/passwd"),
    "write": lambda: open("/dev/shm/x", "w"),
    "list": lambda: os.listdir("/"),
    "connect": lambda: socket.socket().connect(("127.0.0.1", 9)),
    "listen": lambda: socket.socket().bind(("127.0.0.1", 0)),
    "datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
    "fork": child,
    "run": lambda: os.execv("/bin/true", ["true"]),
    "kill": lambda: os.kill(parent, 0),
    "trace": trace,
    "run memory": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
    "memory": lambda: bytearray(1 << 33),
}}
fences = sandbox.confine(1 << 30, 60.0)
refused = {{}}
for name in {names}:
    try:
        attempts[name]()
    except Exception as error:
        code = getattr(error, "errno", None)
        refused[name] = errno.errorcode[code] if code else type(error).__name__
allowed = sum(bytearray(1 << 20)) == 0 and os.write(connected.fileno(), b"x") == 1
os.write(1, json.dumps([fences, refused, allowed]).encode())
os._exit(0)
"""

FORBIDDEN = (
    "open", "write", "list", "connect", "listen", "datagram", "fork", "run", "kill", "trace", "run memory",
)  # fmt: skip
LANDLOCKED = dict.fromkeys(("open", "write", "list", "connect", "listen", "run"), "EACCES") | {"kill": "EPERM"}


def tried(names: Collection[str], before: str = "") -> tuple[list[str], dict[str, str], bool]:
    """Which fences a process has, what it was refused, and whether it can still compute and write."""
    words = [sys.executable, "-c", TRIED.format(names=list(names), before=before)]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    fences, refused, allowed = json.loads(done.stdout)
    return fences, refused, allowed


@pytest.mark.skipif(
    not LINUX or platform.machine() not in {"x86_64", "aarch64"}, reason="seccomp is Linux', on x86-64 and ARM64"
)
def test_no_file_no_network_no_process() -> None:
    """Nothing that a process could take over, send or keep is left to it; computing and answering is."""
    fences, refused, allowed = tried((*FORBIDDEN, "memory"))
    if "seccomp" not in fences:
        pytest.skip(f"this kernel has no seccomp filters: {fences}")
    assert allowed
    assert refused == {**dict.fromkeys(FORBIDDEN, "EPERM"), "memory": "MemoryError"}


@pytest.mark.skipif(not LINUX, reason="Landlock is Linux'")
def test_landlock_alone() -> None:
    """Where the numbers of system calls are not known, files, connections and signals are refused all the same."""
    fences, refused, allowed = tried(
        LANDLOCKED, "sandbox._seccomp = lambda: False; sandbox._limits = lambda memory, cpu_seconds: []"
    )
    version = next((int(fence.split()[1]) for fence in fences if fence.startswith("Landlock")), 0)
    if version < 6:
        pytest.skip(f"Landlock knows no signals before version 6: {fences}")
    assert allowed
    assert refused == LANDLOCKED


def test_limits_alone() -> None:
    """What every system has: no file is opened, and no more memory had than is allowed."""
    fences, refused, allowed = tried(
        ("open", "connect", "memory"), "sandbox._seccomp = lambda: False; sandbox._landlock = lambda: 0"
    )
    assert len(fences) == 1
    assert allowed
    assert refused["open"] == refused["connect"] == "EMFILE"
    if LINUX:
        assert refused["memory"] == "MemoryError"
