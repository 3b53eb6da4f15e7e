"""Settings of the server, checked before anything is opened."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from gapscope_backend.alerts.addresses import AllowList
from gapscope_backend.analysis.gaps import GAP_THRESHOLD_RATIO
from gapscope_backend.errors import ConfigurationError
from gapscope_backend.services.admin import database_url
from gapscope_backend.store.retention import Retention


@dataclass(frozen=True)
class ServerConfig:
    """How the server runs.

    ``port`` 0 takes a free one. ``database_url`` None is SQLite under ``data_dir``. ``allowed_hosts`` are names, beside
    those of localhost, that a request's Host header may hold (a tunnel's or a proxy's). ``static_dir`` None is the
    built page of the installed package. ``retention`` is what the workers go by, for forecasts. ``read_only``: people
    change nothing either, for a database that is only shown. ``webhook_allow`` names the targets of webhooks that may
    be private or plain http.
    """

    data_dir: Path
    host: str = "127.0.0.1"
    port: int = 0
    database_url: str | None = None
    gap_threshold: float = GAP_THRESHOLD_RATIO
    allowed_hosts: tuple[str, ...] = ()
    static_dir: Path | None = None
    retention: Retention = field(default_factory=Retention)
    read_only: bool = False
    webhook_allow: AllowList = field(default_factory=AllowList)

    @property
    def url_of_database(self) -> str:
        """The database's address."""
        return self.database_url or database_url(self.data_dir)

    def check(self) -> None:
        """Raise ConfigurationError for a setting that cannot be used."""
        if not _is_loopback(self.host):
            raise ConfigurationError(
                f"listen address {self.host}: the server listens on localhost only (127.0.0.1 or ::1), because beyond "
                "it logins need TLS, which it does not speak yet. Reach it from afar through ssh -L"
            )
        if not 0 <= self.port <= 65535:
            raise ConfigurationError(f"port {self.port}: give one from 1 to 65535, or 0 for a free one")
        if not 0 < self.gap_threshold < 1:
            raise ConfigurationError(f"gap threshold {self.gap_threshold}: must lie between 0 and 1")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
