"""An answer of the project service, read: status, headers and body in, a value or an error out. No I/O.

The interface documents no error at all, so that the statuses are taken as HTTP defines them, and the service's
own words are looked for where services usually put them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from bridge.errors import Busy, NotFound, NotSignedIn, NotUnderstood, Outage, ServiceRefused

T = TypeVar("T")

LONGEST_RETRY_AFTER = timedelta(hours=1)  # whoever says more may have meant it, but is asked again by then
LONGEST_SAID = 300  # characters: what fits into a sentence in Slack

_ENOUGH_TO_FIND_A_MESSAGE = 64 * 1024
_WHERE_MESSAGES_ARE = ("error", "message", "detail", "title", "msg")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer, with its whole body; *headers* are looked up without regard to case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        """Whether the status promises the documented shape."""
        return 200 <= self.status <= 299  # noqa: PLR2004 - HTTP's own border


def read_value(operation: str, answer: Answer, shape: TypeAdapter[T], called: str = "") -> T:
    """Read a successful answer. Raises `NotUnderstood`, which names the field; *called* names the whole."""
    value = _read_json(operation, answer)
    try:
        return shape.validate_python(value)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_context=False)[0]
        # Not chained: pydantic's own message quotes the answer.
        problem = _describe(first, called)
    raise NotUnderstood(operation, answer.status, problem)


def refusal(operation: str, answer: Answer, *, now: datetime, secret: str = "") -> ServiceRefused:
    """Make the error for an answer with any other status; *secret* is blotted out of what the service said."""
    status, said = answer.status, find_message(answer, secret)
    retry_after = read_retry_after(answer.headers, now)
    match status:
        case 401 | 403:
            return NotSignedIn(operation, status, said)
        case 404 | 410:
            return NotFound(operation, status, said)
        case 429:
            return Busy(operation, status, said, retry_after)
        case 503 if retry_after is not None:
            return Busy(operation, status, said, retry_after)
        case 502 | 503 | 504:
            return Outage(operation, status, said)
        case _:
            return ServiceRefused(operation, status, said)


def read_retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Read Retry-After, given as seconds or as a date; None where it is absent or makes no sense."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,9})?", text):
        wanted = timedelta(seconds=min(float(text), LONGEST_RETRY_AFTER.total_seconds()))
    elif (moment := _read_http_date(text)) is not None:
        # The service's clock may be off; its own Date header tells what time it thinks it is.
        wanted = moment - (_read_http_date(headers.get("date", "")) or now)
    else:
        return None
    return max(timedelta(0), min(wanted, LONGEST_RETRY_AFTER))


def find_message(answer: Answer, secret: str = "") -> str:
    """Find the service's own words in an error's body: one line, cut, or ``""``."""
    body = answer.body
    if len(body) > _ENOUGH_TO_FIND_A_MESSAGE:
        return ""
    if _media_type(answer) == "text/plain":
        words = body.decode(errors="replace")
    else:
        try:
            words = _words_in(_loads(body))
        except ValueError:
            return ""
    return _one_line(words.replace(secret, "***") if secret else words)


def _read_json(operation: str, answer: Answer) -> Any:
    if not answer.body.strip():
        raise NotUnderstood(operation, answer.status, "an empty answer")
    try:
        return _loads(answer.body)
    except ValueError:
        pass  # not chained: the parser's message quotes the answer
    kind = _media_type(answer)
    raise NotUnderstood(
        operation, answer.status, "not JSON" if kind in {"", "application/json"} else f"not JSON but {kind}"
    )


def _loads(body: bytes) -> Any:
    """Read JSON as the standard has it. Raises ValueError for all else, NaN and bottomless nesting too."""
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
        # Half an emoji is legal in JSON and in nothing that it passes through later: UTF-8, Redis, Slack.
        if b"\\ud" in body.lower():
            value = json.loads(_SURROGATE.sub("�", json.dumps(value, ensure_ascii=False)))
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _words_in(value: Any, depth: int = 3) -> str:
    """Look for a message: a string, or under the usual names, or in a list of such (FastAPI's ``detail``)."""
    if isinstance(value, str):
        return value
    if depth == 0:
        return ""
    if isinstance(value, dict):
        found = (_words_in(value.get(name), depth - 1) for name in _WHERE_MESSAGES_ARE)
        return next((words for words in found if words.strip()), "")
    if isinstance(value, list):
        return "; ".join(words for item in value[:5] if (words := _words_in(item, depth - 1)).strip())
    return ""


def _one_line(text: str) -> str:
    """Fold line breaks and whatever does not print (controls, direction marks), and cut."""
    printable = "".join(c if c.isprintable() else " " for c in text)
    line = " ".join(printable.split())
    return line if len(line) <= LONGEST_SAID else line[: LONGEST_SAID - 1].rstrip() + "…"


def _media_type(answer: Answer) -> str:
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind if re.fullmatch(r"[\w.+-]{1,40}/[\w.+-]{1,40}", kind) else ""


def _read_http_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


_EXPECTED = {
    "bool_type": "a boolean",
    "dict_type": "an object",
    "list_type": "a list",
    "model_type": "an object",
    "string_type": "a string",
}

_RIGHT_TYPE = {"fraction", "timestamp_text"}  # the JSON type is right and what it says is not

_JSON_NAMES = {
    bool: "a boolean",
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
}


def _describe(error: ErrorDetails, called: str) -> str:
    """Say what is wrong where, without the value itself: ``workflows[3].is_active: not a boolean but a string``."""
    kind, came = error["type"], error["input"]
    place = called
    for step in error["loc"]:
        place += f"[{step}]" if isinstance(step, int) else f".{step}"
    place = place.lstrip(".")
    if kind == "missing":
        return f"{place}: missing"
    problem = f"not {_EXPECTED[kind]}" if kind in _EXPECTED else error["msg"]
    if kind not in _RIGHT_TYPE:
        problem += f" but {_JSON_NAMES.get(type(came), 'null')}"
    return f"{place}: {problem}" if place else problem
