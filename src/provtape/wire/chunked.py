"""The chunked transfer coding (RFC 9112 section 7.1): the body it carries, and where it ends.

Decides the exact offset of the message's last byte, which llhttp does not tell, by following sizes and lines; llhttp decodes the
same bytes. Two readings that differ are an error, so nobody downstream can read a third thing. Chunk extensions and trailers are
passed over: a record has no place for them.
"""

from __future__ import annotations

import re
from typing import Final

from httptools import HttpParserError, HttpResponseParser

MAX_LINE: Final = 16 * 1024
MAX_TRAILERS: Final = 64 * 1024

_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_HEAD: Final = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


class ChunkedBody:
    """Reads one chunked body, however it is cut into reads."""

    __slots__ = ("_data", "_done", "_line", "_parser", "_skip", "_trailers")

    def __init__(self) -> None:
        self._line = b""
        self._skip = 0
        self._trailers = -1
        self._data: list[bytes] = []
        self._done = False
        self._parser = HttpResponseParser(self)
        self._parser.feed_data(_HEAD)

    def on_body(self, data: bytes) -> None:
        """For llhttp: some bytes of the body."""
        self._data.append(data)

    def on_message_complete(self) -> None:
        """For llhttp: the body is whole."""
        self._done = True

    def feed(self, data: bytes, start: int) -> tuple[bytes, int | None]:
        """Read on.

        Args:
            data: Bytes as they came.
            start: Where in them the body goes on.

        Returns:
            The bytes of the body among them; and the offset just after the last byte of the message, None while it has not come.

        Raises:
            ValueError: It is not chunked as it should be; the message says what is wrong, without content.
        """
        end = self._end(data, start)
        try:
            self._parser.feed_data(data[start:end])
        except HttpParserError as error:
            raise ValueError(f"the chunked body is malformed: {str(error).lower()}") from None
        if self._done is not (end is not None):
            raise ValueError("the chunked body can be read in two ways")
        body = self._data[0] if len(self._data) == 1 else b"".join(self._data)
        self._data.clear()
        return body, end

    def _end(self, data: bytes, at: int) -> int | None:
        while at < len(data):
            if self._skip:
                step = min(self._skip, len(data) - at)
                self._skip -= step
                at += step
                continue
            feed = data.find(b"\n", at)
            end = len(data) if feed < 0 else feed + 1
            if len(self._line) + end - at > MAX_LINE:
                raise ValueError(f"a line of the chunked body is longer than {MAX_LINE} bytes")
            self._line += data[at:end]
            at = end
            if feed >= 0 and self._ends_with(self._line):
                return at
        return None

    def _ends_with(self, line: bytes) -> bool:
        """Whether this whole line is the last one."""
        self._line = b""
        if self._trailers >= 0:
            self._trailers += len(line)
            if self._trailers > MAX_TRAILERS:
                raise ValueError(f"the trailers are larger than {MAX_TRAILERS} bytes")
            return line == b"\r\n"
        size = _SIZE.fullmatch(line)
        if size is None:
            raise ValueError("the chunked body is malformed: no chunk size")
        length = int(size[1], 16)
        if length:
            self._skip = length + 2
        else:
            self._trailers = 0
        return False
