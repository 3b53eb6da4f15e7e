"""``gapscope server``: the API with the page, and a worker, on one database, until stopped.

``--role all`` is the parent of two processes, ``--role api`` and ``--role worker``, in one process group: what a worker
computes takes no time from requests. With PostgreSQL any number of either may run, on any machines.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gapscope_backend.cli.arguments import add_data_option
from gapscope_backend.cli.children import Child, run_together
from gapscope_backend.cli.database import (
    DATABASE,
    ROLES,
    add_database_options,
    chosen_database,
    config_words,
    read_server_file,
)
from gapscope_backend.cli.errors import UsageError
from gapscope_backend.cli.folder import DEFAULT_PORT, locked, worker_name

if TYPE_CHECKING:
    from gapscope_backend.alerts.addresses import AllowList
    from gapscope_backend.alerts.files import Spec
    from gapscope_backend.store.retention import Retention

KEPT = {
    "retention_hours": (48.0, "samples and stacks as they were taken are deleted at this age"),
    "retention_10s_days": (30.0, "age at which figures of 10 s are deleted"),
    "retention_5min_days": (365.0, "age at which figures of 5 min are deleted"),
    "retention_minutes_days": (90.0, "age at which minutes of GPUs and events are deleted"),
}
"""Options that say how long data is kept: their defaults and what they mean."""
DEFAULTS = {
    "role": "all",
    "port": DEFAULT_PORT,
    "listen": "127.0.0.1",
    "alerts": None,
    "public_url": None,
    **{name: kept for name, (kept, _) in KEPT.items()},
}


def add_parser(commands: Any) -> None:
    """Options of ``gapscope server``."""
    parser = commands.add_parser("server", help="run the backend: ingest, API and page")
    add_data_option(parser)
    add_database_options(parser)
    parser.add_argument(
        "--role", choices=ROLES, help="api: requests only; worker: background work only; all: one of each (default)"
    )
    parser.add_argument("--port", type=int, help=f"port to listen on (default: {DEFAULT_PORT})")
    parser.add_argument("--listen", metavar="ADDRESS", help="loopback address (default: 127.0.0.1)")
    parser.add_argument("--alerts", metavar="FILE", help="TOML file of alert rules, laid over the default ones")
    parser.add_argument(
        "--public-url", metavar="URL", help="where people reach the page: links of alerts begin with it"
    )
    for name, (kept, about) in KEPT.items():
        parser.add_argument(_option(name), type=float, help=f"{about} (default: {kept:g})")


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _fill_in(arguments: argparse.Namespace) -> None:
    """Options that were not given come from the file, else from the defaults."""
    told = read_server_file(arguments.config)
    arguments.database = chosen_database(arguments)
    for name, default in DEFAULTS.items():
        if getattr(arguments, name) is None:
            from_file = getattr(told, name)
            setattr(arguments, name, default if from_file is None else from_file)


async def _until_stopped(work: Callable[[asyncio.Event], Coroutine[Any, Any, int]]) -> int:
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    return await work(stop)


def _roles(arguments: argparse.Namespace) -> list[Child]:
    kept = [word for name in KEPT for word in (_option(name), str(getattr(arguments, name)))]
    alerts = ("--alerts", arguments.alerts) if arguments.alerts else ()
    url = ("--public-url", _public_url(arguments))
    words = ("server", "--data", str(arguments.data), *config_words(arguments), *kept, *alerts, *url)
    listening = ("--port", str(arguments.port), "--listen", arguments.listen)
    environment = {DATABASE: arguments.database} if arguments.database else {}
    return [
        Child("the API", (*words, *listening, "--role", "api"), environment=environment),
        Child("the worker", (*words, "--role", "worker"), environment=environment),
    ]


def _serve_all(arguments: argparse.Namespace) -> int:
    return asyncio.run(_until_stopped(lambda stop: run_together(_roles(arguments), stop)))


def _serve_api(arguments: argparse.Namespace) -> int:
    from gapscope_backend.api.server import ServerConfig, loop_factory, run_server

    config = ServerConfig(
        data_dir=arguments.data,
        host=arguments.listen,
        port=arguments.port,
        database_url=arguments.database,
        retention=_retention(arguments),
        webhook_allow=_webhook_allow(arguments),
    )

    async def serve(stop: asyncio.Event) -> int:
        await run_server(config, lambda address: print(f"listening on {address}", flush=True), stop)
        return 0

    # On one file one API is enough, and a second by mistake would take half of the live views.
    with nullcontext() if arguments.database else locked(arguments.data, "server.lock"):
        if sys.version_info >= (3, 11):
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                return runner.run(_until_stopped(serve))
        else:
            return asyncio.run(_until_stopped(serve))


def _work(arguments: argparse.Namespace) -> int:
    from gapscope_backend.alerts.egress import Egress
    from gapscope_backend.services.admin import database_url
    from gapscope_backend.services.jobs import run_worker
    from gapscope_backend.services.worker import AlertSettings

    url = arguments.database or database_url(arguments.data)
    retention, egress = _retention(arguments), Egress(_webhook_allow(arguments))
    alerts = AlertSettings(_rules(arguments), _public_url(arguments))
    with worker_name(arguments.data) as name:

        async def work(stop: asyncio.Event) -> int:
            await run_worker(url, retention, name, stop, egress, alerts)
            return 0

        return asyncio.run(_until_stopped(work))


def _retention(arguments: argparse.Namespace) -> Retention:
    from gapscope_backend.store.retention import Retention

    retention = Retention(*(getattr(arguments, name) for name in KEPT))
    retention.check()
    return retention


def _webhook_allow(arguments: argparse.Namespace) -> AllowList:
    """Of the file alone: who starts the server says which private targets webhooks may reach."""
    from gapscope_backend.alerts.addresses import read_allow_list

    return read_allow_list(read_server_file(arguments.config).webhook_allow or ())


def _rules(arguments: argparse.Namespace) -> Mapping[str, Spec] | None:
    """The rules of the file that was named; ConfigurationError tells all that is wrong with it."""
    from gapscope_backend.alerts.files import read_file

    return read_file(Path(arguments.alerts)) if arguments.alerts else None


def _public_url(arguments: argparse.Namespace) -> str:
    """As people reach the page; by default where the API listens."""
    told: str = arguments.public_url or f"http://{arguments.listen}:{arguments.port}"
    if not told.startswith(("http://", "https://")):
        raise UsageError(f"public_url {told!r}: begin it with http:// or https://")
    return told.rstrip("/")


def run(arguments: argparse.Namespace) -> int:
    """Run until SIGINT or SIGTERM."""
    _fill_in(arguments)
    _retention(arguments)
    _rules(arguments)
    _public_url(arguments)
    _webhook_allow(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("alembic").setLevel(logging.WARNING)
    arguments.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    return {"all": _serve_all, "api": _serve_api, "worker": _work}[arguments.role](arguments)
