"""Inflating stored bytes into bounded memory: a database may come from somebody else, as an incident file does."""

from __future__ import annotations

import zlib

from gapscope_backend.errors import StoreError

ZLIB_OR_GZIP = 47


def inflate(data: bytes, most_bytes: int) -> bytes:
    """The inflated bytes. Raises StoreError for more than ``most_bytes``, and for what is no whole stream.

    The stream may be zlib's or gzip's; its own header tells which.
    """
    stream = zlib.decompressobj(wbits=ZLIB_OR_GZIP)
    try:
        plain = stream.decompress(data, most_bytes + 1)
    except zlib.error as error:
        raise StoreError(f"stored bytes cannot be inflated ({error}); the database is damaged") from error
    if not stream.eof or len(plain) > most_bytes:
        raise StoreError(f"stored bytes are cut short or inflate to more than {most_bytes}; the database is damaged")
    return plain
