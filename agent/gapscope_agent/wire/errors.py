"""Errors of the wire: what a batch can be refused for."""

from __future__ import annotations


class WireError(ValueError):
    """A batch breaks the contract; the message says what is wrong and where (group, column, field)."""


class WireVersionError(WireError):
    """The batch speaks a version of the wire that this side does not know; upgrade the older side."""
