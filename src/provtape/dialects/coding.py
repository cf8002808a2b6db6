"""Content codings (RFC 9110 section 8.4): what a body says once they are undone.

Decides which codings provtape can undo and when the result may be believed: all of it, whole, nothing left over, within a limit.
Anything else is left as it came by the caller. Not decided here: what is stored (`wire.exchange`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Final, Protocol

MAX_CODINGS: Final = 4
MAX_MEMBERS: Final = 64

_PIECE: Final = 64 * 1024
_ZSTD_WINDOW_LOG: Final = (
    27  # 128 MiB, the most that a receiver is asked to take (RFC 8878 section 3.1.1.1.2 leaves it open)
)


class _Inflater(Protocol):
    """What zlib and zstd decompressors share."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def decoded(encodings: str, data: bytes, limit: int) -> bytes | None:
    """Undo the codings that a `content-encoding` header names.

    Args:
        encodings: Its value; several codings are undone from the last to the first.
        data: The body as it came.
        limit: The most bytes any step may give.

    Returns:
        The body without them, or None when it can not be undone: an unknown coding, or one whose package is not installed; cut,
        damaged or followed by something else; larger than `limit`. It never raises.

    >>> decoded("gzip", zlib.compress(b"hello", wbits=31), 100)
    b'hello'
    """
    names = [name.strip().lower() for name in encodings.split(",") if name.strip()]
    if len(names) > MAX_CODINGS:
        return None
    result: bytes | None = data
    for name in reversed(names):
        undo = _CODINGS.get(name)
        if undo is None or result is None:
            return None
        result = undo(result, limit)
    return result


def _identity(data: bytes, limit: int) -> bytes | None:
    return data if len(data) <= limit else None


def _gzip(data: bytes, limit: int) -> bytes | None:
    return _members(lambda: zlib.decompressobj(31), data, limit, zlib.error)


def _deflate(data: bytes, limit: int) -> bytes | None:
    """With its zlib wrapper as the RFC says, or bare as some servers send it."""
    result = _whole(zlib.decompressobj(15), data, limit, zlib.error)
    return _whole(zlib.decompressobj(-15), data, limit, zlib.error) if result is None else result


def _zstd(data: bytes, limit: int) -> bytes | None:
    module = _zstd_module()
    if module is None:
        return None
    options = {module.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    return _members(lambda: module.ZstdDecompressor(options=options), data, limit, module.ZstdError)


def _brotli(data: bytes, limit: int) -> bytes | None:
    module = _brotli_module()
    if module is None:
        return None
    stream, parts, size, rest = module.Decompressor(), [], 0, data
    try:
        while not stream.is_finished():
            part: bytes = stream.process(rest, output_buffer_limit=_PIECE)
            size += len(part)
            if size > limit or not (part or rest):
                return None
            parts.append(part)
            rest = b""
    except module.error:
        return None
    return b"".join(parts)


def _members(make: Callable[[], _Inflater], data: bytes, limit: int, error: type[Exception]) -> bytes | None:
    """One or more members or frames, one after the other, and nothing else."""
    parts: list[bytes] = []
    while data or not parts:
        if len(parts) == MAX_MEMBERS:
            return None  # each one costs a copy of all that follows
        inflater = make()
        part = _whole(inflater, data, limit, error, last=False)
        if part is None:
            return None
        parts.append(part)
        limit -= len(part)
        data = inflater.unused_data
    return b"".join(parts)


def _whole(
    inflater: _Inflater, data: bytes, limit: int, error: type[Exception], *, last: bool = True
) -> bytes | None:
    try:
        result = inflater.decompress(data, limit + 1)
    except (error, EOFError):
        return None
    if len(result) > limit or not inflater.eof or (last and inflater.unused_data):
        return None
    return result


def _zstd_module() -> ModuleType | None:
    """The standard library's from 3.14 on, else the backport."""
    try:
        return import_module("compression.zstd")
    except ImportError:
        pass
    try:
        return import_module("backports.zstd")
    except ImportError:
        return None


def _brotli_module() -> ModuleType | None:
    try:
        module = import_module("brotli")
    except ImportError:
        return None
    bounded = hasattr(getattr(module, "Decompressor", None), "can_accept_more_data")
    return module if bounded else None  # before 1.2 nothing bounds what it gives


_CODINGS: Final[dict[str, Callable[[bytes, int], bytes | None]]] = {
    "identity": _identity,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "zstd": _zstd,
    "br": _brotli,
}
