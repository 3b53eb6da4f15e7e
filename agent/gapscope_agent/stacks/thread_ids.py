"""The kernel's thread numbers of interpreters older than Python 3.11, which do not keep them.

There py-spy tells only Python's own identifier, which with glibc is the address of the thread's ``struct pthread``;
the kernel's number stands in it at an offset that has been the same for 15 years. What is read there is believed only
if it is the number of a thread of that process, so a C library with another layout gives no number and no wrong one.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Collection

PTHREAD_TID_OFFSET = {"x86_64": 720, "aarch64": 208}


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def kernel_tid(pid: int, ident: int, tids: Collection[int]) -> int | None:
    """The kernel's number of the thread ``ident`` of process ``pid``, one of ``tids``; None when it cannot be told."""
    offset = PTHREAD_TID_OFFSET.get(platform.machine())
    if offset is None or not 0 < ident < 1 << 62:
        return None
    found = ctypes.c_int32(0)
    here = _Vector(ctypes.addressof(found), 4)
    there = _Vector(ident + offset, 4)
    read = ctypes.CDLL(None, use_errno=True).process_vm_readv
    read.restype = ctypes.c_ssize_t
    read.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong]
    count = read(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return found.value if count == 4 and found.value in tids else None
