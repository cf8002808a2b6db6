"""The chunked transfer coding (RFC 9112 section 7.1): the body it carries, and where it ends.

Decides the exact offset of the message's last byte, which llhttp does not tell, by following sizes and lines; llhttp decodes the
same bytes. Two readings that differ are an error, so nobody downstream can read a third thing. Chunk extensions and trailers are
passed over: a record has no place for them.
"""

from __future__ import annotations

import re
from typing import Final

from httptools import HttpParserError, HttpResponseParser

MALFORMED: Final = (
    "the chunked body is malformed"  # no more: what is seen first depends on where the bytes are cut
)
MAX_LINE: Final = 16 * 1024
MAX_TRAILERS: Final = 64 * 1024

_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r\n")
_HEAD: Final = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


class ChunkedBody:
    """Reads one chunked body, however it is cut into reads.

    Attributes:
        fault: Why it can not be read, without content; None as long as it can.
    """

    __slots__ = ("_data", "_done", "_ended", "_line", "_parser", "_skip", "_trailers", "fault")

    def __init__(self) -> None:
        self.fault: str | None = None
        self._line = b""
        self._skip = 0
        self._trailers = -1
        self._ended = self._done = False
        self._data: list[bytes] = []
        self._parser = HttpResponseParser(self)
        self._parser.feed_data(_HEAD)

    def on_body(self, data: bytes) -> None:
        """For llhttp: some bytes of the body."""
        self._data.append(data)

    def on_message_complete(self) -> None:
        """For llhttp: the body is whole."""
        self._done = True

    def feed(self, data: bytes, start: int) -> tuple[bytes, int | None]:
        """Read on. With a fault, the bytes before it are still given, whatever the cut.

        Args:
            data: Bytes as they came.
            start: Where in them the body goes on.

        Returns:
            The bytes of the body among them; and the offset just after the last byte of the message, None while it has not come.
        """
        end = self._scan(data, start)
        try:
            self._parser.feed_data(data[start:end])
        except HttpParserError:
            self.fault = self.fault or MALFORMED
        if self._done is not self._ended:
            self.fault = self.fault or "the chunked body can be read in two ways"
        body = self._data[0] if len(self._data) == 1 else b"".join(self._data)
        self._data.clear()
        return body, end if self._ended and self.fault is None else None

    def _scan(self, data: bytes, at: int) -> int:
        """Follow sizes and lines up to the end, to a fault or through all of the data; how far."""
        while at < len(data):
            if self._skip:
                step = min(self._skip, len(data) - at)
                self._skip -= step
                at += step
                continue
            feed = data.find(b"\n", at)
            end = len(data) if feed < 0 else feed + 1
            if len(self._line) + end - at > MAX_LINE:
                self.fault = f"a line of the chunked body is longer than {MAX_LINE} bytes"
                return at
            self._line += data[at:end]
            if feed >= 0 and not self._take_line():
                return end if self._ended else at
            at = end
        return at

    def _take_line(self) -> bool:
        """Read a whole line; whether anything may follow it."""
        line, self._line = self._line, b""
        if self._trailers >= 0:
            self._trailers += len(line)
            if self._trailers > MAX_TRAILERS:
                self.fault = f"the trailers are larger than {MAX_TRAILERS} bytes"
            self._ended = line == b"\r\n" and self.fault is None
            return not self._ended and self.fault is None
        size = _SIZE.fullmatch(line)
        if size is None:
            self.fault = MALFORMED
            return False
        length = int(size[1], 16)
        if length:
            self._skip = length + 2
        else:
            self._trailers = 0
        return True
