"""What a process takes from itself before it reads hostile bytes, for good: files, network, system calls, memory.

Three fences, each as far as the system has it:

- limits of the process (setrlimit(2)): memory, CPU time, no file, no child, no core dump;
- Landlock (landlock(7), Linux 5.13 and later): no path of the file system, no TCP port, no signal to others;
- seccomp (seccomp(2), Linux on x86-64 and ARM64): a system call that is not listed fails with EPERM.

Listed is what Python needs to read, write, compute and end: no `open`, `socket`, `clone`, `execve`, `kill`, `ptrace`.
What maps memory may not make it executable. A call of another architecture, whose numbers mean other things, ends the
process. Landlock says again in part what seccomp says: it holds where the numbers of calls are not known.

There is no library for this that is kept and has wheels: the two kernel interfaces are asked through `ctypes`.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
import platform
import resource
import struct
import sys
from typing import Final, NamedTuple

_NO_NEW_PRIVILEGES: Final = 38
"""PR_SET_NO_NEW_PRIVS, without which the kernel accepts neither fence from a user."""
_SET_SECCOMP: Final = 22
_FILTER: Final = 2


def confine(memory: int, cpu_seconds: float) -> list[str]:
    """Put up all fences that the system has, and return their names. Open files stay open.

    `memory`: bytes of address space; 0: no limit. `cpu_seconds`: of the process's whole life.
    """
    fences = []
    if sys.platform == "linux":
        _system().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        if version := _landlock():
            fences.append(f"Landlock {version}")
    fences[:0] = [f"limits ({', '.join(_limits(memory, cpu_seconds))})"]
    if sys.platform == "linux" and _seccomp():
        fences.append("seccomp")
    return fences


def _limits(memory: int, cpu_seconds: float) -> list[str]:
    """The kernel counts no processes of root: there seccomp has to hold alone."""
    wanted = {
        "memory": (resource.RLIMIT_AS, memory or resource.RLIM_INFINITY),
        "CPU": (resource.RLIMIT_CPU, math.ceil(cpu_seconds)),
        "files": (resource.RLIMIT_NOFILE, 0),
        "file size": (resource.RLIMIT_FSIZE, 0),
        "processes": (resource.RLIMIT_NPROC, 0),
        "core": (resource.RLIMIT_CORE, 0),
    }
    held = []
    for name, (limit, value) in wanted.items():
        with contextlib.suppress(ValueError, OSError):  # macOS knows some of them by name only
            resource.setrlimit(limit, (value, value))
            held.append(name)
    return held


def _system() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


# Landlock: include/uapi/linux/landlock.h. Its three calls have the same numbers everywhere.

_CREATE_RULESET: Final = 444
_RESTRICT_SELF: Final = 446
_ASK_VERSION: Final = 1


class _LandlockVersion(NamedTuple):
    """What the versions from `first` on can handle."""

    first: int
    files: int
    network: int | None
    scopes: int | None


_VERSIONS: Final = (
    _LandlockVersion(6, (1 << 16) - 1, 3, 3),
    _LandlockVersion(5, (1 << 16) - 1, 3, None),
    _LandlockVersion(4, (1 << 15) - 1, 3, None),
    _LandlockVersion(3, (1 << 15) - 1, None, None),
    _LandlockVersion(2, (1 << 14) - 1, None, None),
    _LandlockVersion(1, (1 << 13) - 1, None, None),
)


def _landlock() -> int:
    """Handle all kinds of access, and allow none. Gives the version that the kernel has; 0 where it has none."""
    system = _system()
    version: int = system.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    handled = next((known for known in _VERSIONS if version >= known.first), None)
    if handled is None:
        return 0
    rules = struct.pack("=Q", handled.files)
    rules += b"".join(struct.pack("=Q", part) for part in handled[2:] if part is not None)
    ruleset = system.syscall(_CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), 0)
    if ruleset < 0:
        return 0
    try:
        return version if system.syscall(_RESTRICT_SELF, ruleset, 0) == 0 else 0
    finally:
        os.close(ruleset)


# seccomp: include/uapi/linux/seccomp.h and filter.h; the numbers of calls are those of each architecture.

_X86_64: Final = {
    "read": 0, "write": 1, "close": 3, "munmap": 11, "brk": 12, "rt_sigprocmask": 14, "rt_sigreturn": 15,
    "sched_yield": 24, "mremap": 25, "madvise": 28, "exit": 60, "gettimeofday": 96, "futex": 202,
    "restart_syscall": 219, "clock_gettime": 228, "exit_group": 231, "getrandom": 318,
}  # fmt: skip
_ARM64: Final = {
    "read": 63, "write": 64, "close": 57, "munmap": 215, "brk": 214, "rt_sigprocmask": 135, "rt_sigreturn": 139,
    "sched_yield": 124, "mremap": 216, "madvise": 233, "exit": 93, "gettimeofday": 169, "futex": 98,
    "restart_syscall": 128, "clock_gettime": 113, "exit_group": 94, "getrandom": 278,
}  # fmt: skip


class _Machine(NamedTuple):
    audit: int
    """What the kernel calls the architecture."""
    calls: dict[str, int]
    mapping: tuple[int, int]
    """`mmap` and `mprotect`, whose third argument says whether the memory is executable."""


_MACHINES: Final = {
    "x86_64": _Machine(0xC000003E, _X86_64, (9, 10)),
    "aarch64": _Machine(0xC00000B7, _ARM64, (222, 226)),
}

_NUMBER, _ARCHITECTURE, _THIRD_ARGUMENT = 0, 4, 32
"""Offsets in `struct seccomp_data`, in bytes; of an argument its lower half."""
_LOAD, _IF_EQUAL, _IF_BITS, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_EXECUTABLE: Final = 4


def _program(machine: _Machine) -> bytes:
    """The filter, as instructions of the classic BPF: operation, jump if true, jump if not, value."""
    allowed = sorted(machine.calls.values())
    end = len(allowed) + len(machine.mapping)
    # After the comparisons: refuse; then what is asked of a mapping: load, compare; then allow, and refuse again.
    tests = [(_IF_EQUAL, end - place + 2, 0, number) for place, number in enumerate(allowed)]
    tests += [(_IF_EQUAL, end - place, 0, number) for place, number in enumerate(machine.mapping, start=len(allowed))]
    instructions = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_IF_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        *tests,
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, _THIRD_ARGUMENT),
        (_IF_BITS, 1, 0, _EXECUTABLE),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


class _FilterProgram(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _seccomp() -> bool:
    """Refuse every system call that is not listed. False if the kernel or the machine is unknown."""
    machine = _MACHINES.get(platform.machine())
    if machine is None or sys.maxsize < 1 << 32:
        return False
    program = _program(machine)
    given = _FilterProgram(len(program) // 8, program)
    return bool(_system().prctl(_SET_SECCOMP, _FILTER, ctypes.byref(given), 0, 0) == 0)
