"""Reads where a response begins and ends, whatever its server's framing, and frames it anew for a strict parser.

No parser is tolerant enough: with all its leniencies, llhttp (of aiohttp and httptools) refuses a Content-Length that's
repeated or a list, and a header without a colon; h11 is stricter. If an answer were refused for that, nobody could tell
whether to send the message again, although it arrived whole.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Final, TypeAlias

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

_Pieces: TypeAlias = Generator[bytes | None, None, None]  # None: more data is needed


class Framing:
    """One response, as it arrives."""

    def __init__(self) -> None:
        self._held = bytearray()
        self._pieces = self._response()
        self.is_complete = False
        self.has_surplus = False  # whether something follows the response

    def feed(self, data: bytes) -> bytes:
        """Return what a parser is to get next. Raises ValueError if that's not HTTP."""
        self._held += data
        pieces = list[bytes]()
        for piece in self._pieces:
            if piece is None:
                break
            pieces.append(piece)
        self.has_surplus = self.is_complete and bool(self._held)
        return b"".join(pieces)

    def _response(self) -> _Pieces:
        status, version, fields = 100, b"", list[tuple[bytes, bytes]]()
        while status < 200 and status != 101:  # noqa: PLR2004 - interim responses
            head = yield from self._until(_HEAD_END, _BEGIN)
            begin, *lines = _FOLD.sub(b" ", head).split(b"\n")
            if (start := _STATUS_LINE.fullmatch(begin)) is None:
                raise ValueError
            status, version = int(start[3]), b"1.0" if start[1] + (start[2] or b"") == b"10" else b"1.1"
            fields.clear()
            for line in lines:
                name, colon, value = line.partition(b":")
                name, value = name.strip().lower(), value.translate(None, _CONTROLS).strip()
                if colon and _NAME.fullmatch(name) and len(value) < LONGEST_HEADER and len(fields) < MOST_HEADERS - 1:
                    fields.append((name, value))
        is_chunked = any(b"chunked" in value.lower() for name, value in fields if name == b"transfer-encoding")
        lengths = [part.strip() for name, value in fields if name == b"content-length" for part in value.split(b",")]
        # Of several lengths, the largest: if the connection closes before, the answer counts if it's whole JSON.
        length = max((int(part) for part in lengths if part.isdigit() and len(part) < 16), default=None)  # noqa: PLR2004
        framed = [
            b"HTTP/%s %d" % (version, status),
            *(b"%s: %s" % field for field in fields if field[0] not in _FRAMING),
        ]
        has_body = status not in _WITHOUT_BODY
        if has_body and is_chunked:
            framed.append(b"Transfer-Encoding: chunked")
        elif has_body and length is not None:
            framed.append(b"Content-Length: %d" % length)
        yield b"\r\n".join([*framed, b"", b""])
        if has_body:
            yield from self._chunks(length) if is_chunked else self._bytes(length)
        self.is_complete = True

    def _until(self, end: re.Pattern[bytes], begin: bytes = b"") -> Generator[bytes | None, None, bytes]:
        """Take what is before *end*, without empty lines; it has to start with *begin*."""
        while True:
            if self._held.startswith((b"\r", b"\n")):
                self._held = self._held.lstrip(b"\r\n")
            if match := end.search(self._held):
                break
            if len(self._held) > _LARGEST_HEAD or not begin.startswith(self._held[: len(begin)].upper()):
                raise ValueError
            yield None
        taken = bytes(self._held[: match.start()])
        del self._held[: match.end()]
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
        if self._held[:1].isspace() or _CHUNK_SIZE.match(self._held):
            size = None
            while size != 0:
                line = yield from self._until(_LINE_END)
                if (match := _CHUNK_SIZE.match(line)) is None:
                    raise ValueError
                size = int(match[1], 16)
                if size:
                    yield b"%x\r\n" % size
                    yield from self._bytes(size)
                    yield b"\r\n"
            while (end := _TRAILERS.match(self._held)) is None:
                if len(self._held) > _LARGEST_HEAD:
                    raise ValueError
                yield None
            del self._held[: end.end()]
        else:
            for piece in self._bytes(length):
                yield piece and b"%x\r\n%s\r\n" % (len(piece), piece)
        yield b"0\r\n\r\n"
