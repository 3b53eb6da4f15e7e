"""The one error tree of the backend.

A message says what was wrong and what to do about it; ``where`` names the part of the request, file or setting at
fault. ``RequestError`` and below are the caller's doing and are shown to the caller as they stand; everything else
is logged and shown without its internals.
"""

from __future__ import annotations


class BackendError(Exception):
    """Root of everything that the backend raises itself."""


class ConfigurationError(BackendError):
    """A setting cannot be used; the server does not start."""


class StoreError(BackendError):
    """The database cannot be opened, or holds something that cannot be read."""


class RequestError(BackendError):
    """A request that cannot be served as it was made."""

    def __init__(self, detail: str, where: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        self.where = where


class MalformedError(RequestError):
    """The request does not have the form that it must have."""


class UnauthenticatedError(RequestError):
    """No credentials, or ones that are unknown, used up, expired or revoked."""


class ForbiddenError(RequestError):
    """Valid credentials that do not allow this."""


class NotFoundError(RequestError):
    """The thing asked for does not exist."""


class GoneError(RequestError):
    """The thing asked for was there, and its time is over."""


class TooLargeError(RequestError):
    """More bytes, values or points than are accepted in one request."""


class UnsupportedMediaError(RequestError):
    """A content type or content encoding that is not understood."""


class UnprocessableError(RequestError):
    """Well formed, but it cannot be true or cannot be answered."""


class UpgradeRequiredError(RequestError):
    """A wire version that this server does not speak."""


class StorageFullError(RequestError):
    """The disk is too full to store more; the same request succeeds once there is room."""


class BusyError(RequestError):
    """Too much at once; the same request succeeds later."""
