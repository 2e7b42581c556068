"""Reads what the project service sends, once and tolerantly: bytes, encodings, JSON, fields and rows.

An answer that came counts, even if a detail of it is off. What can't be used costs only itself: it's left out, and
named in the *problems*, without its content. Inside, all values are whole: no NaN, no half character pairs, no nesting
deeper than `bridge.json_reader.DEEPEST`. Only a response without an answer in it raises `NotUnderstood`.

All of it is linear in the response's length, which is limited, so it may run in a thread (`ProjectClient`).
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any, Final, Generic, TypeVar
from urllib.parse import urljoin, urlsplit, urlunsplit

from pydantic import BaseModel, ValidationError

from bridge.common_clock import http_date
from bridge.errors import Busy, Forbidden, Moved, NotFound, NotUnderstood, Outage, ServiceRefused
from bridge.json_reader import DEEPEST, is_too_deep, read_json
from bridge.names.listing import Listing
from bridge.project import models
from bridge.project.models import ChatAnswer, RunResult, kind_of, problem_with

M = TypeVar("M", bound=BaseModel)

LARGEST_BODY: Final = 4 * 1024 * 1024
"""Bytes, decompressed, that are read of a response."""

TOO_LARGE: Final = f"larger than {LARGEST_BODY // 1024 // 1024} MB"
MOST_PROBLEMS: Final = 20
LONGEST_RETRY_AFTER: Final = timedelta(days=30)  # longer ones are capped
LONGEST_MESSAGE: Final = 300  # characters
API: Final = "/api/sdk"
"""The path of all operations, below the service's address."""

_WRAPPERS: Final = ("data", "result", "results", "response", "payload", "body", "items")
_GZIP_MARK: Final = b"\x1f\x8b"
_LARGEST_WITH_MESSAGE: Final = 64 * 1024  # bytes of a body in which a message is looked for
_MOST_TRIES: Final = 20  # of reading a field of what isn't JSON
_MOST_PARTS: Final = 200_000  # arrays and objects; with a million, collecting garbage stops the process for 0.5 s
_TOO_MANY_PARTS: Final = f"more than {_MOST_PARTS:,} arrays and objects"
_MOST_DIGITS: Final = 4000  # Python refuses to read numbers of more than 4,300
_LONGEST_NAME: Final = 60  # characters of a field's name in a problem
_ZLIB: Final = zlib.MAX_WBITS
_GZIP: Final = _ZLIB | 16
_MOST_MEMBERS: Final = 100  # of a gzip file; the rest is copied for each
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CESU: Final = re.compile(rb"(?:\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf])|\xed[\xa0-\xbf][\x80-\xbf]")
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_CHARSETS: Final = re.compile(
    r"(?:x-)?((?:iso|latin|l|windows|win|cp|koi8|mac|big5|gb|euc|shift|s?jis|tis|ibm|hz|johab|ks|u)[\w.:-]*)",
    re.IGNORECASE,
)
"""Charsets that documents have. Python's other codecs aren't for text, or take quadratic time."""

_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
_TRAILING_COMMA: Final = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|,(?=\s*+[\]}])', re.DOTALL)
_COLON: Final = re.compile(r"\s*+:\s*+")
_PAGE: Final = re.compile(rb"\s*<(!doctype|html|head|body|\?xml)", re.IGNORECASE)


@dataclass(slots=True)
class ServiceResponse:
    """A response as it arrived: its *body* may be compressed, and is only the beginning of one that's larger.

    *size* is the whole length if it's known, else 0.
    """

    status: int
    headers: Mapping[str, str]
    body: bytearray = field(default_factory=bytearray)
    size: int = 0
    is_cut: bool = False
    is_success: bool = field(init=False)
    encoding: str = field(init=False)  # the value of Content-Encoding

    def __post_init__(self) -> None:
        self.is_success = HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES
        self.encoding = self.headers.get("content-encoding", "").lower()

    def add(self, chunk: bytes) -> None:
        """Add a piece of the body; beyond the limit it's only counted."""
        self.size += len(chunk)
        if not self.is_cut:
            self.body += chunk
            self.is_cut = len(self.body) > LARGEST_BODY

    @property
    def is_compressed(self) -> bool:
        """Whether `body` is compressed, whatever its headers say."""
        return self.body.startswith(_GZIP_MARK) or "deflate" in self.encoding

    @property
    def is_page(self) -> bool:
        """Whether the body is a web page, as gateways send, and so not the service's own words."""
        is_html = media_type(self.headers.get("content-type", "")) in {"text/html", "application/xhtml+xml"}
        return is_html or _PAGE.match(self.body) is not None

    def is_complete(self) -> bool:
        """Whether the body is one whole JSON value, although the transfer didn't end as it should."""
        decoded, is_cut = decompressed(bytes(self.body), self.encoding)
        with suppress(ValueError):
            return self.is_success and not (is_cut or self.is_cut) and isinstance(read_json(decoded), dict | list)
        return False


@dataclass(frozen=True, slots=True)
class AnswerShape(Generic[M]):
    """One object of a *model*, which isn't an answer unless it has one of the fields in *needs* (all: any of them).

    *expected* are fields whose absence is a problem, *partly* is the field of which the beginning is worth showing.
    """

    model: type[M]
    needs: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    partly: str = ""


@dataclass(frozen=True, slots=True)
class RowsShape(Generic[models.Item]):
    """A list of rows of a *model*, called *name*."""

    model: type[models.Item]
    name: str


class _Odd:
    """A number that JSON doesn't have, or that is too large."""


_ODD: Final = _Odd()
_UNREAD: Final = object()


class _Reader:
    """Reads one response and collects its *problems*."""

    def __init__(self, operation: str, received: ServiceResponse) -> None:
        self.operation = operation
        self.received = received
        self.problems: list[str] = []
        self.has_odd_numbers = False
        numbers: dict[str, Any] = {"parse_constant": self._odd, "parse_float": self._fraction}
        self._decoder = partial(json.JSONDecoder, strict=False, **numbers)
        self.json = self._decoder()
        decoded, is_large = decompressed(bytes(received.body), received.encoding)
        self.text = self._decoded(decoded).strip("\ufeff\x00 \t\r\n")
        self.brackets = self.text.count("[") + self.text.count("{")
        has_too_many = self.brackets > _MOST_PARTS and self._has_too_many_parts(0)
        # why only its beginning is read, or ""
        self.cut = TOO_LARGE if is_large or received.is_cut else _TOO_MANY_PARTS if has_too_many else ""
        self.has_part = False  # whether a field was read only in part

    def note(self, problem: str) -> None:
        if len(self.problems) < MOST_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def fail(self, problem: str, message: str = "") -> NotUnderstood:
        return NotUnderstood(self.operation, self.received.status, problem, message)

    # Text

    def _decoded(self, body: bytes) -> str:
        encoding = json.detect_encoding(body)
        if encoding.startswith("utf-8"):
            with suppress(UnicodeDecodeError):
                return body.decode()
            declared = _CHARSET.search(self.received.headers.get("content-type", ""))
            charset = _CHARSETS.fullmatch(declared[1]) if declared else None
            if charset and not _CESU.search(body):
                with suppress(ValueError, LookupError):
                    return body.decode(charset[1])
            encoding = "utf-8"
            body = _CESU.sub(_joined, body)
        text = body.decode(encoding, errors="replace")
        if "\ufffd" in text[:-1]:
            self.note("characters that aren't in its encoding")
        return text

    # JSON

    def _has_too_many_parts(self, begin: int) -> bool:
        is_container = self.text.startswith(("[", "{"), begin)
        return is_container and self.text.count("[", begin) + self.text.count("{", begin) > _MOST_PARTS

    def _odd(self, _digits: str) -> _Odd:
        self.has_odd_numbers = True
        return _ODD

    def _fraction(self, digits: str) -> float | _Odd:
        number = float(digits)
        return number if math.isfinite(number) else self._odd(digits)

    def _whole_number(self, digits: str) -> int | _Odd:
        return int(digits) if len(digits) < _MOST_DIGITS else self._odd(digits)

    def value(self, wanted: frozenset[str] = frozenset(), partly: str = "") -> Any:
        """Parse the text. What isn't JSON is read as far as *wanted* fields can be, and of *partly* the beginning.

        Raises `NotUnderstood`.
        """
        value: Any = _UNREAD
        if not self.cut and self.brackets <= DEEPEST:  # nearly all answers
            with suppress(ValueError):
                value = self.json.decode(self.text)
        try:
            value = self._value(wanted, partly) if value is _UNREAD else value
            # What JSON may contain but nothing else can: half characters, and numbers that are none
            is_odd = self.has_odd_numbers or "\\ud" in self.text or "\\uD" in self.text
            return self._clean(value, "", 2 if isinstance(value, list) else 1) if is_odd else value
        except (ValueError, RecursionError):
            pass  # not chained: the parser's messages quote the answer
        kind = media_type(self.received.headers.get("content-type", ""))
        problem = "not JSON" if kind in {"", "application/json"} else f"not JSON but {kind}"
        problem = problem if self.text else "an empty answer"
        raise self.fail(self.cut or problem)

    def _value(self, wanted: frozenset[str], partly: str) -> Any:
        if not self.cut:
            with suppress(ValueError):
                return self._parsed(self.text)
            with suppress(ValueError):
                value = self._parsed(_TRAILING_COMMA.sub(lambda match: match[1] or "", self.text))
                self.note("commas before a closing bracket")
                return value
        if value := dict(self._members(wanted, partly)):
            return value
        raise ValueError

    def _parsed(self, text: str) -> Any:
        try:
            value = self.json.decode(text)
        except json.JSONDecodeError:
            raise
        except RecursionError:
            return self.json.decode(self._pruned(text))
        except ValueError:  # more digits than Python reads
            value = self._decoder(parse_int=self._whole_number).decode(text)
        return self.json.decode(self._pruned(text)) if is_too_deep(value, text) else value

    def _pruned(self, text: str) -> str:
        """Replace what is nested too deeply by null."""
        kept, depth, begin, name = list[str](), 0, 0, ""
        for token in _TOKEN.finditer(text):
            mark = token[0][0]
            if mark == '"':
                name = token[0] if depth == 1 else name
            elif mark in "[{":
                depth += 1
                if depth == DEEPEST + 1:
                    kept += [text[begin : token.start()], "null"]
                    self.note(f"{_named(name.strip(chr(34)))}: nested more than {DEEPEST} levels deep")
            else:
                if depth == DEEPEST + 1:
                    begin = token.end()
                depth -= 1
        return "".join([*kept, text[begin:] if depth <= DEEPEST else ""])

    def _members(self, wanted: frozenset[str], partly: str) -> Iterator[tuple[str, Any]]:
        """Yield the *wanted* fields of the outermost object that can be read."""
        text, depth, at, tries = self.text, 0, max(0, self.text.find("{")), 0
        if text.startswith("<"):  # a page, whatever its scripts contain
            return
        for token in _TOKEN.finditer(text, at):
            mark, name = token[0][0], token[0][1:-1]
            if token.start() < at:
                continue
            if mark in "[]{}":
                depth += 1 if mark in "[{" else -1
                if not depth:
                    break
            elif depth == 1 and name in wanted and (colon := _COLON.match(text, token.end())):
                tries += 1
                if tries > _MOST_TRIES:
                    break
                try:
                    if self._has_too_many_parts(colon.end()):
                        raise ValueError  # noqa: TRY301 - as if it weren't JSON
                    value, at = self.json.raw_decode(text, colon.end())
                except (ValueError, RecursionError):
                    if self.cut and name == partly:
                        self.has_part = True
                        yield name, _beginning(text[colon.end() :])
                        break
                    self.note(f"{name}: not JSON")
                else:
                    yield name, value
        self.note(self.cut or "not all of it is JSON")

    def _clean(self, value: Any, path: str, levels: int) -> Any:
        """Replace what can't be used outside of JSON."""
        match value:
            case str():
                if not _SURROGATE.search(value):
                    return value
                self.note(f"{path or 'text'}: half a character")
                return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            case dict():
                inside = [
                    (self._clean(key, path, 0), self._clean(inner, _in(path, key, levels), levels - 1))
                    for key, inner in value.items()
                ]
                return dict(inside)
            case list():
                return [self._clean(inner, _in(path, at, levels), levels - 1) for at, inner in enumerate(value)]
            case _Odd():
                self.note(f"{path or 'the answer'}: not a number that JSON has")
                return None
            case _:
                return value


def read_answer(operation: str, received: ServiceResponse, shape: AnswerShape[M]) -> tuple[M, list[str]]:
    """Read one object. Returns it with what couldn't be used. Raises `NotUnderstood`."""
    reader, fields = _Reader(operation, received), frozenset(shape.model.model_fields)
    value = reader.value(fields, shape.partly)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise reader.fail(f"not an object but {kind_of(value)}")
    values: dict[str, Any] = value
    for name in _WRAPPERS:  # the object with the documented fields may be in another one, or in a list there
        inner = value.get(name) if name not in fields else None
        inner = inner[0] if isinstance(inner, list) and len(inner) == 1 else inner
        if isinstance(inner, dict) and len(fields & inner.keys()) > len(fields & values.keys()):
            values = {**value, **inner}
            reader.note(f"wrapped in {name}")
    needs = shape.needs or tuple(fields)
    if all(values.get(name) is None for name in needs):
        problem = f"{needs[0]}: {'null' if needs[0] in values else 'missing'}" if shape.needs else "no documented field"
        raise reader.fail(reader.cut or problem, _said(values.get("error") or values.get("errors")))
    for name in shape.expected:
        if values.get(name) is None:
            reader.note(f"{name}: {'null' if name in values else 'missing'}")
    try:
        answer = shape.model.model_validate(values, context=reader.note)
    except ValidationError as exc:
        problem = problem_with(exc)
    else:
        if (
            reader.cut
            and (reader.has_part or shape.partly not in values)
            and isinstance(answer, ChatAnswer | RunResult)
        ):
            answer.cut_from(received.size)
        return answer, reader.problems
    raise reader.fail(problem)  # not chained: pydantic's message quotes the answer


def read_rows(
    operation: str, received: ServiceResponse, shape: RowsShape[models.Item]
) -> tuple[Listing[models.Item], list[str]]:
    """Read a list's rows that can be used. Returns them with what couldn't. Raises `NotUnderstood` if none can."""
    reader = _Reader(operation, received)
    value = whole = reader.value()
    for _ in range(2):  # {"data": {"agents": [...]}}
        if isinstance(value, dict):
            names = [name for name in (shape.name, *_WRAPPERS) if isinstance(value.get(name), list | dict)]
            value = value[names[0]] if names else value
    if not isinstance(value, list):
        raise reader.fail(f"{shape.name}: not a list but {kind_of(value)}")
    rows = Listing[models.Item](is_part=len(value) > models.MOST_ROWS or has_more(whole, received, len(value)))
    if len(value) > models.MOST_ROWS:
        reader.note(f"{shape.name}: more than {models.MOST_ROWS:,}, of which the first were used")
    for at, row in enumerate(value[: models.MOST_ROWS]):
        problems: list[str] = []
        try:
            rows.append(shape.model.model_validate(row, context=problems.append))
        except ValidationError as exc:
            problems = [f"{problem_with(exc)} {models.LEFT_OUT}"]
        for problem in problems:
            reader.note(f"{shape.name}[{at}]{': ' if problem.startswith('not ') else '.'}{problem}")
    if value and not rows:
        raise reader.fail(next(problem for problem in reader.problems if problem.endswith(models.LEFT_OUT)))
    return rows, reader.problems


_NEXT: Final = frozenset(
    {
        "next", "nextcursor", "cursor", "nextpage", "nextpagetoken", "nexttoken", "pagetoken", "continuationtoken",
        "after", "nexturl", "nextlink", "nextpageurl", "odata.nextlink", "endcursor", "scrollid", "nextoffset",
        "nextkey",
    }
)  # fmt: skip
_MORE: Final = frozenset({"hasmore", "hasnext", "hasnextpage", "more", "moreavailable", "istruncated", "truncated"})
_TOTAL: Final = frozenset(
    {"total", "count", "totalcount", "totalitems", "totalresults", "totalelements", "totalrows", "totalrecords"}
)
_PAGES: Final = frozenset({"totalpages", "pagecount", "pages", "lastpage"})
_AROUND: Final = frozenset({"links", "meta", "metadata", "pagination", "paging", "page", "pageinfo", "cursors", "info"})
"""The names by which services say that a list has more pages, in small letters and without ``_``, ``-`` and ``@``."""

_NEXT_LINK: Final = re.compile(r"""rel\s*=\s*(?:"[^"]*\bnext\b|'[^']*\bnext\b|next\b)""", re.IGNORECASE)


def has_more(value: Any, received: ServiceResponse, count: int) -> bool:
    """Whether a response with *count* rows says that there are more, in its JSON *value* or in its headers."""
    headers = {name.lower(): text for name, text in received.headers.items()}
    totals = [headers.get("x-total-count", ""), headers.get("x-total", "")]
    totals.append(headers.get("content-range", "").rpartition("/")[2])
    if any(_is_number(text) and int(text) > count for text in totals):
        return True
    return bool(_NEXT_LINK.search(headers.get("link", ""))) or _says_more(value, count)


def _says_more(value: Any, count: int, depth: int = 4) -> bool:
    if not isinstance(value, dict) or not depth:
        return False
    facts = {re.sub(r"[_@-]", "", name).lower(): fact for name, fact in value.items()}
    flags = [fact for name, fact in facts.items() if name in _MORE and isinstance(fact, bool)]
    numbers = {name: int(fact) for name, fact in facts.items() if _is_number(fact)}
    at = max(1, numbers.get("page", 0), numbers.get("currentpage", 0))
    has_next = any(fact for name, fact in facts.items() if name in _NEXT) and False not in flags
    return (
        True in flags
        or has_next
        or any(number > count for name, number in numbers.items() if name in _TOTAL)
        or any(number > at for name, number in numbers.items() if name in _PAGES)
        or any(
            _says_more(fact, count, depth - 1) for name, fact in facts.items() if name in _AROUND or name in _WRAPPERS
        )
    )


def _is_number(value: Any) -> bool:
    is_text = isinstance(value, str) and value.isdecimal() and len(value) < _MOST_DIGITS
    return is_text or (isinstance(value, int) and not isinstance(value, bool))


def _beginning(text: str) -> str:
    """Return the beginning of a value that's cut: of a string its characters, of anything else its JSON."""
    if not text.startswith('"'):
        return text
    for cut in range(12):  # the last escape may be cut: a pair of them has 12 characters
        with suppress(ValueError):
            return str(json.loads(f'{text[: len(text) - cut]}"', strict=False))
    return ""


def _joined(surrogates: re.Match[bytes]) -> bytes:
    """Return the UTF-8 of a character written as two halves (CESU-8); a half alone is replaced."""
    halves = surrogates[0].decode("utf-8", "surrogatepass")
    return halves.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _in(path: str, step: str | int, levels: int) -> str:
    """Return the path of a value at *path*, as far as it's worth naming."""
    if levels <= 0:
        return path
    return f"{path}[{step}]" if isinstance(step, int) else f"{path}.{_named(step)}".removeprefix(".")


def _named(name: str) -> str:
    """Return a field's name as it may be logged."""
    return "".join(mark for mark in name[:_LONGEST_NAME] if mark.isprintable())


def decompressed(body: bytes, encoding: str) -> tuple[bytes, bool]:
    """Decompress *body* by what it is, whatever *encoding* says.

    Returns `LARGEST_BODY` bytes at most, and whether there are more.
    """
    is_cut, forms = False, (_ZLIB, -_ZLIB) if "deflate" in encoding else ()  # with and without zlib's header
    for _ in range(2):  # some proxies compress again
        is_gzip = body.startswith(_GZIP_MARK)
        for form in (_GZIP,) if is_gzip else forms:
            with suppress(zlib.error):
                body, is_longer = _inflated(body, form)
                is_cut |= is_longer
                break
        forms = forms if is_gzip else ()
    return body[:LARGEST_BODY], is_cut or len(body) > LARGEST_BODY


def _inflated(body: bytes, form: int) -> tuple[bytes, bool]:
    """Decompress *body*, of gzip all members (RFC 1952, 2.2), up to a limit.

    Returns it, and whether there is more. Raises zlib.error.
    """
    whole = b""
    for at in range(_MOST_MEMBERS):
        inflating = zlib.decompressobj(form)
        try:
            whole += inflating.decompress(body, LARGEST_BODY + 1 - len(whole))
        except zlib.error:
            if at:
                return whole, False  # what follows isn't a member
            raise
        body = inflating.unused_data
        if form != _GZIP or not body.startswith(_GZIP_MARK) or len(whole) > LARGEST_BODY:
            return whole, bool(inflating.unconsumed_tail)
    return whole, True


def media_type(content_type: str) -> str:
    """Return the media type in a Content-Type header; ``""`` if it's absent or invalid."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind if re.fullmatch(r"[\w.+-]{1,40}/[\w.+-]{1,40}", kind) else ""


def service_refusal(
    operation: str,
    received: ServiceResponse,
    *,
    secret: str,
    base_url: str = "",
    path: str = "",
    now: datetime | None = None,
) -> ServiceRefused:
    """Return the error for an unsuccessful answer; *secret* is removed from the service's message.

    *base_url* and *path* are where it was requested. *now* is for tests.
    """
    status, headers, message = received.status, received.headers, ""
    body, is_cut = decompressed(bytes(received.body), received.encoding)
    if len(body) <= _LARGEST_WITH_MESSAGE and not is_cut:
        if media_type(headers.get("content-type", "")) == "text/plain":
            message = body.decode(errors="replace")
        elif not received.is_page:
            with suppress(NotUnderstood):
                message = _said(_Reader(operation, received).value())
    message = _one_line(message.replace(secret, "***"), LONGEST_MESSAGE)
    retry_after = _retry_after(headers, now or datetime.now(UTC))
    match status:
        case 401 | 403:
            return Forbidden(operation, status, message)
        case 404 | 410:
            return NotFound(operation, status, message, is_page=received.is_page)
        case 429:
            return Busy(operation, status, message, retry_after)
        case 503 if retry_after is not None:
            return Busy(operation, status, message, retry_after)
        case 502 | 503 | 504:
            return Outage(operation, status, message)
        case _ if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            return Moved(operation, status, message, _moved_to(headers.get("location", ""), base_url, path))
        case _:
            return ServiceRefused(operation, status, message)


def _moved_to(location: str, base_url: str, path: str) -> str:
    """Return the service's address after a redirect, or else where it leads; ``""`` if that's unknown or the same."""
    try:
        parts = urlsplit(urljoin(f"{base_url}{API}/{path}", location.strip()))
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        host = f"{host}:{parts.port}" if parts.port else host
    except ValueError:
        return ""
    if not location.strip() or parts.scheme not in {"http", "https"}:
        return ""
    address = urlunsplit((parts.scheme, host, parts.path, "", "")).rstrip("/").removesuffix(f"{API}/{path}")
    address = _one_line(address, LONGEST_MESSAGE)
    return "" if address == base_url else address


def _one_line(text: str, limit: int) -> str:
    """Return one line of printable characters (no control characters, no direction marks), cut."""
    line = " ".join("".join(mark if mark.isprintable() else " " for mark in text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Read Retry-After, in seconds or as a date; None if it's absent or invalid."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,9})?", text):
        return timedelta(seconds=min(float(text), LONGEST_RETRY_AFTER.total_seconds()))
    moment = http_date(text)
    if moment is None:
        return None
    # The service's clock may be off; its Date header shows it.
    wanted = moment - (http_date(headers.get("date", "")) or now)
    return max(timedelta(0), min(wanted, LONGEST_RETRY_AFTER))


def _said(value: Any, depth: int = 3) -> str:
    """Find a message: a string, a common field of an object, or these in a list (FastAPI's ``detail``)."""
    if isinstance(value, str):
        return value
    if depth and isinstance(value, dict):
        fields = (_said(value.get(name), depth - 1) for name in ("error", "message", "detail", "title", "msg"))
        return next((words for words in fields if words.strip()), "")
    if depth and isinstance(value, list):
        return "; ".join(words for item in value[:5] if (words := _said(item, depth - 1)).strip())
    return ""
