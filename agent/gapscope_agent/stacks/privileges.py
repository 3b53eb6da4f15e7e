"""Gives up, at the helper's start, everything but the two capabilities that it is for.

CAP_SYS_PTRACE lets it read another process's memory, CAP_DAC_READ_SEARCH its files under /proc and its source lines.
What cannot be given up is told, never passed over: the helper refuses to run with more than it needs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import stat

from gapscope_agent.errors import AgentError

CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE = 2, 19
KEPT = {CAP_DAC_READ_SEARCH: "CAP_DAC_READ_SEARCH", CAP_SYS_PTRACE: "CAP_SYS_PTRACE"}
LAST_CAPABILITY = 63

_PR_CAPBSET_READ, _PR_CAPBSET_DROP = 23, 24
_PR_SET_SECUREBITS, _PR_SET_NO_NEW_PRIVS = 28, 38
_PR_CAP_AMBIENT, _AMBIENT_RAISE, _AMBIENT_CLEAR_ALL = 47, 2, 4
_SECURE_BITS = 0b1111
"""NOROOT and NO_SETUID_FIXUP, both locked: user 0 is nobody special to the programs that are started."""
_CAPABILITY_VERSION = 0x20080522
_CLONE_NEWNET = 0x40000000


class PrivilegeError(AgentError):
    """A privilege could not be given up."""


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _Sets(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


_libc = ctypes.CDLL(None, use_errno=True)


def permitted() -> int:
    """This process's permitted capabilities, as bits."""
    sets = (_Sets * 2)()
    if _libc.capget(ctypes.byref(_Header(_CAPABILITY_VERSION, 0)), ctypes.byref(sets)):
        raise PrivilegeError(f"capget: {_reason()}")
    return int(sets[0].permitted) | int(sets[1].permitted) << 32


def drop_privileges() -> list[str]:
    """Keep at most the two capabilities, for this process and those it starts; gives what is kept and what is not.

    Raises PrivilegeError where more than the two would stay.
    """
    notes = _leave_network()
    kept = permitted() & sum(1 << bit for bit in KEPT)
    for bit in range(LAST_CAPABILITY + 1):
        if bit not in KEPT and _libc.prctl(_PR_CAPBSET_READ, bit, 0, 0, 0) == 1:
            _libc.prctl(_PR_CAPBSET_DROP, bit, 0, 0, 0)  # needs CAP_SETPCAP; NO_NEW_PRIVS makes the set useless anyway
    _libc.prctl(_PR_SET_SECUREBITS, _SECURE_BITS, 0, 0, 0)  # needs CAP_SETPCAP; without it this user is not root
    low, high = kept & 0xFFFFFFFF, kept >> 32
    sets = (_Sets * 2)(_Sets(low, low, low), _Sets(high, high, high))
    if _libc.capset(ctypes.byref(_Header(_CAPABILITY_VERSION, 0)), ctypes.byref(sets)):
        raise PrivilegeError(f"capset: {_reason()}")
    if _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise PrivilegeError(f"no_new_privs: {_reason()}")
    _libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL, 0, 0, 0)
    for bit in KEPT:
        if kept >> bit & 1 and _libc.prctl(_PR_CAP_AMBIENT, _AMBIENT_RAISE, bit, 0, 0):
            notes.append(f"{KEPT[bit]} cannot be handed to py-spy: {_reason()}")
    if permitted() & ~kept:
        raise PrivilegeError(f"capabilities {permitted() & ~kept:#x} could not be given up")
    return notes + [f"{name} is missing" for bit, name in KEPT.items() if not kept >> bit & 1]


def _leave_network() -> list[str]:
    """Move into a network namespace of its own, with nothing in it; where that is refused, say so."""
    if _libc.unshare(_CLONE_NEWNET) == 0:
        return []
    return [f"no network namespace of its own ({_reason()}); no network socket is opened"]


def refuse_network_sockets() -> None:
    """Raises PrivilegeError when this process was handed a network socket."""
    found = [int(name) for name in os.listdir("/proc/self/fd") if _is_network_socket(int(name))]
    if found:
        raise PrivilegeError(f"file descriptors {found} are network sockets; the stack helper runs without any")


def _is_network_socket(descriptor: int) -> bool:
    with contextlib.suppress(OSError):
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            with socket.socket(fileno=os.dup(descriptor)) as opened:
                return opened.family in (socket.AF_INET, socket.AF_INET6)
    return False


def _reason() -> str:
    return os.strerror(ctypes.get_errno())
