"""Opening and reopening the driver, shared by all GPU sources.

``Driver.session()`` is cheap when a session is open. When a source finds the driver lost, the session is dropped for
all of them and the next ``session()`` initializes anew; its GPUs may then differ. A GPU that does not answer while the
session is opened is left out with its reason, and the others work.
"""

from __future__ import annotations

import importlib
import threading
from typing import Any

from gapscope_agent.errors import SourceUnavailableError
from gapscope_agent.nvml.failure import LOST, describe
from gapscope_agent.nvml.session import Device, Session


class Driver:
    """``library`` is the module nvidia-ml-py (``pynvml``) or a stand-in; it is imported when first needed."""

    def __init__(self, library: Any = None) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._session: Session | None = None

    def session(self) -> Session:
        """The open session. Raises SourceUnavailableError, in one sentence, where there is no driver or no GPU."""
        session = self._session
        if session is not None:
            return session
        with self._lock:
            if self._session is None:
                self._session = self._open()
            return self._session

    def close(self) -> None:
        """End the session, if one is open."""
        with self._lock:
            if self._session is not None:
                self._session.try_ask("nvmlShutdown")
                self._session = None

    def _drop(self, session: Session) -> None:
        with self._lock:
            if self._session is session:
                session.try_ask("nvmlShutdown")
                self._session = None

    def _open(self) -> Session:
        library = self._import()
        try:
            library.nvmlInit()
        except library.NVMLError as error:
            raise SourceUnavailableError(f"No GPU figures: {describe(error).reason}.") from error
        session = Session(library, self._drop)
        try:
            _find_devices(session)
        except SourceUnavailableError:
            session.try_ask("nvmlShutdown")
            raise
        return session

    def _import(self) -> Any:
        if self._library is None:
            try:
                self._library = importlib.import_module("pynvml")
            except ImportError as error:
                raise SourceUnavailableError(f"No GPU figures: nvidia-ml-py cannot be imported ({error}).") from error
        return self._library


def _find_devices(session: Session) -> None:
    count, failure = session.try_ask("nvmlDeviceGetCount")
    if failure is not None:
        raise SourceUnavailableError(f"No GPU figures: {failure.reason}.")
    devices: list[Device] = []
    left_out: list[str] = []
    for index in range(count):
        device, reason = _find_device(session, index)
        if device is not None:
            devices.append(device)
        else:
            left_out.append(f"GPU {index}: {reason}")
    session.devices = tuple(devices)
    session.left_out = tuple(left_out)
    if not devices:
        detail = "; ".join(left_out) or "the driver finds no GPU on this host"
        raise SourceUnavailableError(f"No GPU figures: {detail}.")


def _find_device(session: Session, index: int) -> tuple[Device | None, str]:
    handle, failure = session.try_ask("nvmlDeviceGetHandleByIndex", index)
    if failure is not None:
        return None, failure.reason
    uuid, failure = session.try_ask("nvmlDeviceGetUUID", handle)
    if failure is not None:
        return None, failure.reason
    # A lost GPU can still hand out its UUID from the library's memory: ask something that it must answer itself.
    _, failure = session.try_ask("nvmlDeviceGetPowerUsage", handle)
    if failure is not None and failure.code in LOST:
        return None, failure.reason
    name, _ = session.try_ask("nvmlDeviceGetName", handle)
    return Device(index, _text(uuid), _text(name) if name else "NVIDIA GPU", handle), ""


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
