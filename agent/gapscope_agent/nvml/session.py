"""A session with the driver: the GPUs found when it was opened, and every call made to them.

All calls go through :meth:`Session.ask`, which never raises for a single missing figure: it returns the value or the
reason. It raises :class:`~gapscope_agent.errors.DriverLostError` when the driver or a GPU went away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gapscope_agent.errors import DriverLostError
from gapscope_agent.nvml.failure import FUNCTION_NOT_FOUND, LOST, Failure, describe


@dataclass(frozen=True)
class Device:
    """One GPU of a session. ``handle`` is the driver's and dies with the session."""

    index: int
    uuid: str
    name: str
    handle: Any


class Session:
    """Calls to an initialized driver. ``on_lost`` is told once when the session turned out to be dead."""

    def __init__(self, library: Any, on_lost: Callable[[Session], None]) -> None:
        self.library = library
        self.devices: tuple[Device, ...] = ()
        self.left_out: tuple[str, ...] = ()
        self._on_lost = on_lost

    def constant(self, name: str) -> int:
        """A constant of the driver's header, as nvidia-ml-py names it."""
        return int(getattr(self.library, name))

    def ask(self, function: str, *arguments: Any) -> tuple[Any, Failure | None]:
        """Call ``function`` of nvidia-ml-py; ``(value, None)`` or ``(None, failure)``."""
        answer, failure = self.try_ask(function, *arguments)
        if failure is not None and failure.code in LOST:
            self._on_lost(self)
            raise DriverLostError(f"{failure.reason}; opening the driver again")
        return answer, failure

    def try_ask(self, function: str, *arguments: Any) -> tuple[Any, Failure | None]:
        """As :meth:`ask`, for the moments in which a lost GPU is no news: opening and closing."""
        call = getattr(self.library, function, None)
        if call is None:
            return None, Failure(FUNCTION_NOT_FOUND, f"the installed nvidia-ml-py has no {function}")
        try:
            return call(*arguments), None
        except self.library.NVMLError as error:
            return None, describe(error)
