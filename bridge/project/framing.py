"""Reads one HTTP response, whatever its server's framing.

No parser is tolerant enough: with all its leniencies, llhttp (of aiohttp and httptools) refuses a Content-Length that's
repeated or a list, and a header without a colon; h11 is stricter. If an answer were refused for that, nobody could tell
whether to send the message again, although it arrived whole.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Final, NamedTuple, TypeAlias

LONGEST_HEADER: Final = 64 * 1024
"""Bytes of a header; a longer one is left out. Some gateways' cookies and policies have more than 8 KiB."""

MOST_HEADERS: Final = 1000
_LARGEST_HEAD: Final = 1024 * 1024  # also of a line before a chunk
_BEGIN: Final = b"HTTP/"
_STATUS_LINE: Final = re.compile(rb"HTTP/(\d)(?:\.(\d))?[ \t]+([1-9]\d\d)(?:[ \t].*)?\r?", re.IGNORECASE)
_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_LINE_END: Final = re.compile(rb"\r?\n")
_FOLD: Final = re.compile(rb"\r?\n[ \t]+")  # where a header goes on in the next line (RFC 9112, 5.2)
_TRAILERS: Final = re.compile(rb"(?:[^\r\n][^\n]*\n)*+\r?\n")
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CHUNK_SIZE: Final = re.compile(rb"[ \t]*(?:0x)?0*([0-9a-f]{1,15})(?![0-9a-f])", re.IGNORECASE)
_CONTROLS: Final = bytes(range(32)).replace(b"\t", b"") + b"\x7f"
_FRAMING: Final = (b"content-length", b"transfer-encoding")
_WITHOUT_BODY: Final = (101, 204, 304)

Fields: TypeAlias = list[tuple[bytes, bytes]]


class Head(NamedTuple):
    """A response's status and headers; of those about its framing, only the length of its body is left, if any."""

    status: int
    fields: Fields


_Pieces: TypeAlias = Generator[Head | bytes | None, None, None]  # None: more data is needed


class Framing:
    """One response, as it arrives: its head, and then its body in pieces."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._pieces = self._response()
        self.is_complete = False
        self.has_surplus = False  # whether something follows the response
        self.is_last = False  # whether the server closes the connection after it
        self.ends_with_connection = False

    def feed(self, data: bytes) -> Iterator[Head | bytes]:
        """Yield what has arrived whole. Raises ValueError if that's not HTTP."""
        self._held += data
        for piece in self._pieces:
            if piece is None:
                break
            yield piece
        self.has_surplus = self.is_complete and bool(self._held)

    def _response(self) -> _Pieces:
        status, fields = 100, Fields()
        while status < 200 and status != 101:  # noqa: PLR2004 - interim responses
            head = yield from self._until(_HEAD_END, _BEGIN)
            begin, *lines = _FOLD.sub(b" ", head).split(b"\n")
            if (start := _STATUS_LINE.fullmatch(begin)) is None:
                raise ValueError
            status, fields = int(start[3]), _usable(lines)
            is_closed = any(b"close" in value.lower() for name, value in fields if name == b"connection")
            self.is_last = is_closed or start[1] + (start[2] or b"") == b"10"
        is_chunked = any(b"chunked" in value.lower() for name, value in fields if name == b"transfer-encoding")
        lengths = [part.strip() for name, value in fields if name == b"content-length" for part in value.split(b",")]
        # Of several lengths, the largest: if the connection closes before, the answer counts if it's whole JSON.
        length = max((int(part) for part in lengths if part.isdigit() and len(part) < 16), default=None)  # noqa: PLR2004
        fields = [field for field in fields if field[0] not in _FRAMING]
        has_body = status not in _WITHOUT_BODY
        if has_body and length is not None and not is_chunked:
            fields.append((b"content-length", b"%d" % length))
        self.ends_with_connection = has_body and length is None and not is_chunked
        yield Head(status, fields)
        if has_body:
            yield from self._chunks(length) if is_chunked else self._bytes(length)
        self.is_complete = True

    def _until(self, end: re.Pattern[bytes], begin: bytes = b"") -> Generator[None, None, bytes]:
        """Take what is before *end*, without empty lines; it has to start with *begin*."""
        while True:
            if self._held.startswith((b"\r", b"\n")):
                self._held = self._held.lstrip(b"\r\n")
            if found := end.search(self._held):
                break
            if len(self._held) > _LARGEST_HEAD or not begin.startswith(self._held[: len(begin)].upper()):
                raise ValueError
            yield None
        taken = bytes(self._held[: found.start()])
        del self._held[: found.end()]
        return taken

    def _bytes(self, length: int | None) -> _Pieces:
        """Pass on *length* bytes (None: all), as they arrive."""
        while length is None or length > 0:
            if self._held:
                piece = bytes(self._held[:length])
                del self._held[:length]
                length = None if length is None else length - len(piece)
                yield piece
            else:
                yield None

    def _chunks(self, length: int | None) -> _Pieces:
        """Pass on chunks, however their lines end; or a body of *length* bytes, if it isn't in chunks after all."""
        while not self._held:
            yield None
        if not (self._held[:1].isspace() or _CHUNK_SIZE.match(self._held)):
            self.ends_with_connection = length is None
            yield from self._bytes(length)
            return
        size = None
        while size != 0:
            line = yield from self._until(_LINE_END)
            if (found := _CHUNK_SIZE.match(line)) is None:
                raise ValueError
            size = int(found[1], 16)
            yield from self._bytes(size)
        while (end := _TRAILERS.match(self._held)) is None:
            if len(self._held) > _LARGEST_HEAD:
                raise ValueError
            yield None
        del self._held[: end.end()]


def _usable(lines: list[bytes]) -> Fields:
    """Return the headers whose names and values are usable."""
    fields = Fields()
    for line in lines:
        name, colon, value = line.partition(b":")
        name, value = name.strip().lower(), value.translate(None, _CONTROLS).strip()
        if colon and _NAME.fullmatch(name) and len(value) < LONGEST_HEADER and len(fields) < MOST_HEADERS - 1:
            fields.append((name, value))
    return fields
