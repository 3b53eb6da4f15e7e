"""``gapscope up``: server, this host's agent and, where asked or where there is no GPU, a recording, in one go.

Each part is a process of its own (``gapscope server`` as API and as worker, ``gapscope agent``, ``gapscope replay``),
so that what the agent costs can be seen and one part's end is not another's. This process keeps them running and ends
them all.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path
from typing import Any

from gapscope_backend.cli.arguments import add_data_option, add_replay_options
from gapscope_backend.cli.children import Child, supervise
from gapscope_backend.cli.database import DATABASE, add_database_options, chosen_database, config_words
from gapscope_backend.cli.folder import DEFAULT_PORT, DataFolder, choose_port
from gapscope_backend.errors import BackendError

DEMO = Path(__file__).parents[1] / "demo" / "image-service-demo"


class ReplayOptionError(BackendError):
    """Options that need a recording to play."""


def add_parser(commands: Any) -> None:
    """Options of ``gapscope up``."""
    parser = commands.add_parser("up", help="run the server and this host's agent, and print the address to open")
    add_data_option(parser)
    parser.add_argument("--port", type=int, help="port on localhost (default: 8765, or a free one when it is taken)")
    parser.add_argument(
        "--replay", type=Path, metavar="DIR", help="serve this recording instead of this host and the demo"
    )
    add_database_options(parser)
    add_replay_options(parser)
    parser.add_argument("--no-demo", action="store_true", help="play no bundled recording on a host without a GPU")


def _replay(folder: DataFolder, database: str, server: str, recording: Path, options: list[str]) -> Child:
    from gapscope_agent.replay import host_of

    token = folder.ingest_token(host_of(recording), database)
    words = ("replay", str(recording), "--server", server, "--token-file", str(token), *options)
    return Child(f"replay of {recording.name}", words, folder.log("replay"), finishes="--loop" not in options)


def _replay_options(arguments: argparse.Namespace) -> list[str]:
    words = ["--speed", str(arguments.speed)]
    words += ["--at-recorded-time"] if arguments.at_recorded_time else []
    words += ["--loop"] if arguments.loop else []
    return words


def _agents(arguments: argparse.Namespace, folder: DataFolder, database: str, server: str) -> list[Child]:
    if arguments.replay:
        return [_replay(folder, database, server, arguments.replay, _replay_options(arguments))]
    from gapscope_agent.config import default_host_name
    from gapscope_agent.sources.probe import probe

    token = folder.ingest_token(default_host_name(), database)
    words = ("agent", "--server", server, "--token-file", str(token))
    children = [Child("agent", words, folder.log("agent"))]
    origin = probe()
    if not origin.gpus and not arguments.no_demo:
        reason = " ".join(origin.notes).rstrip(".")
        print(
            f"No NVIDIA GPU here ({reason}): the page shows this host's CPU and processes live, "
            "and beside it a recorded incident of a real H200.",
            flush=True,
        )
        children.append(_replay(folder, database, server, DEMO, ["--loop", "--backfill"]))
    return children


def _servers(folder: DataFolder, database: str, port: int, config: tuple[str, ...]) -> tuple[Child, Child]:
    """The API and the worker, each a process; the address of the database stands in no process list."""
    words = ("server", "--data", str(folder.path), *config)
    environment = {DATABASE: database}
    # The worker listens on nothing: its messages link to where the API does.
    words = (*words, "--port", str(port))
    api = (*words, "--role", "api", "--listen", "127.0.0.1")
    return (
        Child("server", api, folder.log("server"), environment=environment),
        Child("worker", (*words, "--role", "worker"), folder.log("worker"), environment=environment),
    )


async def _keep(server: Child, others: list[Child], address: str, login: str) -> int:
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)

    def ready() -> None:
        print(f"Gapscope is running. Open {address}/login#token={login}  (one-time login; Ctrl-C stops)", flush=True)

    return await supervise(server, others, f"{address}/api/v1/health", ready, stop)


def _check(arguments: argparse.Namespace) -> None:
    """A recording that cannot be played is told before anything starts."""
    if arguments.replay:
        from gapscope_agent.recording.read import open_recording
        from gapscope_agent.replay import span_of

        span_of(open_recording(arguments.replay))
    elif arguments.speed != 1.0 or arguments.loop or arguments.at_recorded_time:
        raise ReplayOptionError("--speed, --loop and --at-recorded-time say how to play a recording: add --replay DIR")


def run(arguments: argparse.Namespace) -> int:
    """Run until interrupted; 1 when a part could not be kept running."""
    from gapscope_backend.services import admin

    _check(arguments)
    with DataFolder.open(arguments.data) as folder:
        port = choose_port(arguments.port)
        if arguments.port is None and port != DEFAULT_PORT:
            print(f"Port {DEFAULT_PORT} is taken; using {port}.", flush=True)
        address = f"http://127.0.0.1:{port}"
        folder.note_address(address)
        database = chosen_database(arguments) or admin.database_url(folder.path)
        server, worker = _servers(folder, database, port, config_words(arguments))
        others = [worker, *_agents(arguments, folder, database, address)]
        code = asyncio.run(_keep(server, others, address, asyncio.run(admin.create_login(database))))
    if code:
        sys.stderr.write(f"gapscope up: stopped; the logs are in {folder.path / 'logs'}\n")
    return code
