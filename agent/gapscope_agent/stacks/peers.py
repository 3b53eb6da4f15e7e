"""Processes that feed the GPU's owners: those at the other end of their pipes and unix sockets.

Both ends of a pipe have one inode number, and multiprocessing's queues are pipes. The two ends of a unix socket have
two; which belong together the kernel tells over netlink (unix_diag), without any privilege.
"""

from __future__ import annotations

import socket
import struct
from collections import defaultdict
from collections.abc import Iterable

from gapscope_agent.stacks.messages import ProcessFacts

MAX_SHARED = 8
"""A pipe that more processes hold open is a log or a terminal, inherited by everybody, and feeds nobody."""
_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_NLM_F_REQUEST_DUMP, _NLMSG_ERROR, _NLMSG_DONE = 0x301, 2, 3
_SHOW_PEER, _DIAG_PEER = 0x4, 2
_ESTABLISHED = 1 << 1
MAX_DIAG_BYTES = 16 * 1024 * 1024


def peers(owners: Iterable[int], processes: Iterable[ProcessFacts], socket_pairs: dict[int, int]) -> list[int]:
    """Of ``processes``, those that share a pipe or a connected unix socket with an owner; no owner among them.

    Who writes its standard output into a pipe of an owner feeds it; who reads an owner's output does not.
    """
    own = set(owners)
    holders: dict[int, set[int]] = defaultdict(set)
    wanted: set[int] = set()
    for facts in processes:
        ends = list(facts.pipes)
        for inode in facts.sockets:
            other = socket_pairs.get(inode)
            if other is not None:
                ends.append(-min(inode, other))
        for end in (*ends, *facts.outputs):
            holders[end].add(facts.pid)
        if facts.pid in own:
            wanted.update(ends)
    found = {pid for end in wanted if len(holders[end]) <= MAX_SHARED for pid in holders[end]}
    return sorted(found - own)


def unix_socket_pairs() -> dict[int, int]:
    """Inode of each connected unix socket of this network namespace to its peer's; empty where it is not told."""
    request = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, _ESTABLISHED, 0, _SHOW_PEER, 0xFFFFFFFF, 0xFFFFFFFF)
    head = struct.pack("=IHHII", 16 + len(request), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST_DUMP, 1, 0)
    pairs: dict[int, int] = {}
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as asking:
            asking.settimeout(1.0)
            asking.sendto(head + request, (0, 0))
            taken = 0
            while taken < MAX_DIAG_BYTES:
                data = asking.recv(1 << 16)
                taken += len(data)
                if not read_pairs(data, pairs):
                    break
    except OSError:
        return pairs
    return pairs


def read_pairs(data: bytes, pairs: dict[int, int]) -> bool:
    """Take the answers of one datagram into ``pairs``; False when it was the last one."""
    while len(data) >= 16:
        length, kind = struct.unpack_from("=IH", data)
        if kind in (_NLMSG_DONE, _NLMSG_ERROR) or length < 16 or length > len(data):
            return False
        body = data[16:length]
        if len(body) >= 16:
            (inode,) = struct.unpack_from("=I", body, 4)
            attributes = body[16:]
            while len(attributes) >= 4:
                size, name = struct.unpack_from("=HH", attributes)
                if size < 4:
                    break
                if name == _DIAG_PEER and size >= 8 and len(attributes) >= 8:
                    pairs[inode] = struct.unpack_from("=I", attributes, 4)[0]
                attributes = attributes[(size + 3) & ~3 :]
        data = data[(length + 3) & ~3 :]
    return True
