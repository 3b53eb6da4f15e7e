"""``gapscope up``: server, this host's agent and, where asked or where there is no GPU, a recording, in one go.

Each part is a process of its own (``gapscope server``, ``gapscope agent``, ``gapscope replay``), so that what the
agent costs can be seen and one part's end is not another's. This process keeps them running and ends them all.
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
    add_replay_options(parser)
    parser.add_argument("--no-demo", action="store_true", help="play no bundled recording on a host without a GPU")


def _replay(folder: DataFolder, server: str, recording: Path, options: list[str]) -> Child:
    from gapscope_agent.replay import host_of

    token = folder.ingest_token(host_of(recording))
    words = ("replay", str(recording), "--server", server, "--token-file", str(token), *options)
    return Child(f"replay of {recording.name}", words, folder.log("replay"), finishes="--loop" not in options)


def _replay_options(arguments: argparse.Namespace) -> list[str]:
    words = ["--speed", str(arguments.speed)]
    words += ["--at-recorded-time"] if arguments.at_recorded_time else []
    words += ["--loop"] if arguments.loop else []
    return words


def _agents(arguments: argparse.Namespace, folder: DataFolder, server: str) -> list[Child]:
    if arguments.replay:
        return [_replay(folder, server, arguments.replay, _replay_options(arguments))]
    from gapscope_agent.config import default_host_name
    from gapscope_agent.sources.probe import probe

    token = folder.ingest_token(default_host_name())
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
        children.append(_replay(folder, server, DEMO, ["--loop", "--backfill"]))
    return children


async def _keep(server: Child, agents: list[Child], address: str, login: str) -> int:
    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)

    def ready() -> None:
        print(f"Gapscope is running. Open {address}/login#token={login}  (one-time login; Ctrl-C stops)", flush=True)

    return await supervise(server, agents, f"{address}/api/v1/health", ready, stop)


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
    _check(arguments)
    with DataFolder.open(arguments.data) as folder:
        port = choose_port(arguments.port)
        if arguments.port is None and port != DEFAULT_PORT:
            print(f"Port {DEFAULT_PORT} is taken; using {port}.", flush=True)
        address = f"http://127.0.0.1:{port}"
        folder.note_address(address)
        server = Child("server", ("server", "--data", str(folder.path), "--port", str(port)), folder.log("server"))
        agents = _agents(arguments, folder, address)
        code = asyncio.run(_keep(server, agents, address, folder.login_token()))
    if code:
        sys.stderr.write(f"gapscope up: stopped; the logs are in {folder.path / 'logs'}\n")
    return code
