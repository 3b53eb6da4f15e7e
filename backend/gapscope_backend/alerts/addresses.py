"""Which addresses a webhook may reach: public ones, and those that the server's file names.

The table follows IANA's registries of special-purpose addresses. Of IPv6 only what is given out to networks (2000::/3)
is public at all; forms that carry an IPv4 address inside are refused whatever that address is.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from gapscope_backend.errors import ConfigurationError

Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"
Network: TypeAlias = "ipaddress.IPv4Network | ipaddress.IPv6Network"

_SPECIAL: tuple[tuple[str, str], ...] = (
    ("0.0.0.0/8", "unspecified"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "shared by a carrier (CGNAT)"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "reserved"),
    ("192.0.2.0/24", "documentation"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("::ffff:0:0/96", "IPv4 mapped into IPv6"),
    ("::/96", "IPv4-compatible"),
    ("64:ff9b::/96", "NAT64"),
    ("64:ff9b:1::/48", "NAT64"),
    ("100::/64", "discarded"),
    ("2001::/32", "Teredo"),
    ("2001::/23", "reserved"),
    ("2001:db8::/32", "documentation"),
    ("2002::/16", "6to4"),
    ("3fff::/20", "documentation"),
    ("fc00::/7", "private (ULA)"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)
_NETWORKS: tuple[tuple[Network, str], ...] = tuple((ipaddress.ip_network(text), name) for text, name in _SPECIAL)
_PUBLIC_V6 = ipaddress.ip_network("2000::/3")


def kind_of(address: Address) -> str:
    """What an address is that no webhook reaches by itself; empty for a public one."""
    for network, name in _NETWORKS:
        if address.version == network.version and address in network:
            return name
    if isinstance(address, ipaddress.IPv6Address) and address not in _PUBLIC_V6:
        return "reserved"
    return "" if address.is_global and not address.is_multicast else "reserved"


@dataclass(frozen=True)
class AllowedTarget:
    """An entry of the allow-list: a host name, or a network; ``port`` None is any."""

    name: str = ""
    network: Network | None = None
    port: int | None = None

    def covers(self, host: str, port: int, address: Address) -> bool:
        """Tell whether this names the target ``host:port`` at ``address``."""
        if self.port is not None and self.port != port:
            return False
        if self.network is None:
            return self.name == _plain_name(host)
        return address.version == self.network.version and address in self.network


@dataclass(frozen=True)
class AllowList:
    """Targets that may be private, and that may be reached over plain http."""

    targets: tuple[AllowedTarget, ...] = ()

    def covers(self, host: str, port: int, address: Address) -> bool:
        """Tell whether the list names that target. Nothing makes a target of what is no single host."""
        if address.is_multicast or address.is_unspecified:
            return False
        return any(target.covers(host, port, address) for target in self.targets)


def read_allow_list(entries: Iterable[str]) -> AllowList:
    """Entries such as ``alertmanager.internal``, ``10.1.2.3:9093``, ``[fd00::5]:443`` and ``10.1.0.0/16``.

    Raises ConfigurationError for what is none of these.
    """
    return AllowList(tuple(_read_entry(entry) for entry in entries))


def _read_entry(entry: str) -> AllowedTarget:
    text = entry.strip()
    try:
        return AllowedTarget(network=ipaddress.ip_network(text))
    except ValueError:
        pass
    host, port = _split_port(entry, text)
    try:
        return AllowedTarget(network=ipaddress.ip_network(host), port=port)
    except ValueError:
        name = _plain_name(host)
    if not name or any(letter in name for letter in "/*@:?#[]% "):
        raise _wrong(entry)
    return AllowedTarget(name=name, port=port)


def _split_port(entry: str, text: str) -> tuple[str, int | None]:
    if text.startswith("["):
        host, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise _wrong(entry)
    else:
        host, _, rest = text.partition(":")
        rest = f":{rest}" if ":" in text else ""
    if not rest:
        return host, None
    if not (rest[1:].isascii() and rest[1:].isdigit() and 0 < int(rest[1:]) < 65536):
        raise _wrong(entry)
    return host, int(rest[1:])


def _plain_name(host: str) -> str:
    return host.lower().rstrip(".")


def _wrong(entry: str) -> ConfigurationError:
    return ConfigurationError(
        f"webhook_allow {entry!r}: want a host name, an address or a network, the former two also with :PORT"
    )
