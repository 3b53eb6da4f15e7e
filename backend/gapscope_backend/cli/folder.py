"""The data folder of ``gapscope up``: database, token files, logs, and a lock that keeps it to one run at a time."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import itertools
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gapscope_backend.cli.arguments import last_used_file
from gapscope_backend.errors import BackendError

DEFAULT_PORT = 8765
DATABASE_FILE = "gapscope.db"
ADDRESS_FILE = "address"


class FolderInUseError(BackendError):
    """Another process runs on this data folder."""


class PortInUseError(BackendError):
    """The asked port is taken, or is none."""


class NoDataError(BackendError):
    """The folder holds no database of a server."""


def existing(path: Path) -> Path:
    """``path``, if a server has used it. NoDataError else."""
    if not (path / DATABASE_FILE).is_file():
        raise NoDataError(f"{path} holds no data of a Gapscope server; give the folder that it runs on with --data")
    return path


def choose_port(wanted: int | None) -> int:
    """The wanted port, or 8765, or a free one when that is taken and none was asked for. 0 asks for a free one."""
    if wanted is not None and not 0 <= wanted <= 65535:
        raise PortInUseError(f"port {wanted}: want a number from 0 (any free one) to 65535")
    for port in (DEFAULT_PORT, 0) if wanted is None else (wanted,):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE or wanted is not None:
                    raise PortInUseError(f"port {port}: {error.strerror}. Choose another with --port.") from error
                continue
            return int(probe.getsockname()[1])
    raise PortInUseError("no free port on localhost")


def address_of(path: Path) -> str:
    """Where the server of this data folder listened when it was started last."""
    file = path / ADDRESS_FILE
    return file.read_text().strip() if file.is_file() else f"http://127.0.0.1:{DEFAULT_PORT}"


@contextmanager
def locked(path: Path, name: str) -> Iterator[None]:
    """Hold one lock of a data folder. FolderInUseError when another process holds it."""
    with (path / name).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise FolderInUseError(f"{path} is in use by another gapscope; stop it or give another --data") from error
        yield


@contextmanager
def worker_name(path: Path) -> Iterator[str]:
    """A name for one worker on this data folder, the same after a restart and held by one living worker at a time.

    Because its lock ends with its holder, the next one of that name may take back at once what the last one held.
    """
    for number in itertools.count(1):
        with (path / f"worker-{number}.lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            lock.seek(0)
            mark = lock.read().strip()
            if not mark:
                mark = secrets.token_hex(6)
                lock.write(mark)
                lock.flush()
            yield f"{socket.gethostname()[:40]}-{mark}"
            return


@dataclass(frozen=True)
class DataFolder:
    """An opened and locked data folder."""

    path: Path

    @staticmethod
    @contextmanager
    def open(path: Path) -> Iterator[DataFolder]:
        """Make the folder (private to its user), lock it for the time of the block."""
        for folder in (path, path / "tokens", path / "logs"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(path, "lock"):
            yield DataFolder(path.resolve())

    def note_address(self, address: str) -> None:
        """Remember where the server listens, and for this user that this folder was the last one used."""
        (self.path / ADDRESS_FILE).write_text(address + "\n")
        file = last_used_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{self.path}\n")

    def log(self, name: str) -> Path:
        """Log file of one part."""
        return self.path / "logs" / f"{name}.log"

    def ingest_token(self, host: str, database: str) -> Path:
        """File with an ingest token bound to ``host`` and valid in a database; made where there is none."""
        from gapscope_backend.services import admin

        file = self.path / "tokens" / f"{host}.ingest"
        held = file.read_text().strip() if file.exists() else ""
        if not (held and asyncio.run(admin.token_is_valid(database, held))):
            token = asyncio.run(admin.create_token(database, "ingest", host, f"agent of {host}"))
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
                out.write(token + "\n")
        return file
