# ruff: noqa: N815 - the fields carry the wire's own names, some of which are in camel case
"""The project service's data, with the service's field names, and how its JSON is read.

Documented fields are required and checked; those of undocumented type (nodes, edges, tools, nodeResults, output, the
elements of toolsUsed) are passed through as JSON. Optional fields that are absent or null are None. Unknown fields
become attributes, and are in ``model_extra``.

The service's errors aren't documented, so statuses mean what HTTP says, and messages are looked for under common field
names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError

from bridge.errors import Busy, NotFound, NotSignedIn, NotUnderstood, Outage, ServiceRefused

T = TypeVar("T")

LONGEST_RETRY_AFTER = timedelta(hours=1)  # longer ones are capped
LONGEST_MESSAGE = 300  # characters
_LARGEST_WITH_MESSAGE = 64 * 1024  # bytes of a body in which a message is looked for
_SURROGATE = re.compile("[\ud800-\udfff]")


def _whole_number(value: object) -> object:
    """Read JSON's ``3.0`` as 3; pydantic's strict mode checks the rest."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _moment(value: object) -> datetime:
    """Read an ISO 8601 timestamp; without an offset it's in UTC, as documented."""
    if isinstance(value, datetime):  # built in Python, not read from the wire
        return value
    if not isinstance(value, str):
        raise PydanticCustomError("timestamp_type", "not a timestamp")
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise PydanticCustomError("timestamp", "not an ISO 8601 timestamp") from exc


def _if_it_fits(value: object, check: ValidatorFunctionWrapHandler) -> Any:
    """Return an undocumented field's value if it has the expected type, else None."""
    try:
        return check(value)
    except ValidationError:
        return None


WholeNumber = Annotated[int, BeforeValidator(_whole_number)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
Undocumented = Annotated[T | None, WrapValidator(_if_it_fits)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, strict=True, protected_namespaces=())


class Workflow(_Model):
    """A workflow in the list."""

    id: WholeNumber
    name: str
    description: str | None = None
    is_active: bool
    trigger_type: str
    node_count: WholeNumber


class WorkflowDetail(_Model):
    """A workflow with its *nodes* and *edges*, whose shape is the service's own.

    Only those two are documented; the rest is what the list has, if the service sends it.
    """

    id: Undocumented[WholeNumber] = None
    name: Undocumented[str] = None
    description: Undocumented[str] = None
    is_active: Undocumented[bool] = None
    trigger_type: Undocumented[str] = None
    node_count: Undocumented[WholeNumber] = None
    nodes: Any = None
    edges: Any = None


class RunResult(_Model):
    """The result of a workflow run; *output* and *nodeResults* are any JSON."""

    runId: WholeNumber
    status: str
    output: Any = None
    nodeResults: Any = None


class Agent(_Model):
    """An agent in the list."""

    id: WholeNumber
    name: str
    description: str | None = None
    model: str
    temperature: float | None = None
    welcome_message: str | None = None


class AgentDetail(_Model):
    """An agent with its *tools*, whose shape is the service's own.

    The other fields are undocumented; they're those of the list, if the service sends them.
    """

    id: Undocumented[WholeNumber] = None
    name: Undocumented[str] = None
    description: Undocumented[str] = None
    model: Undocumented[str] = None
    temperature: Undocumented[float] = None
    welcome_message: Undocumented[str] = None
    tools: Any = None


class ChatAnswer(_Model):
    """An agent's reply, and the session to continue; *toolsUsed* is any JSON, usually an array."""

    sessionId: WholeNumber
    message: str
    toolsUsed: Any = None


class Project(_Model):
    """The project."""

    id: WholeNumber
    name: str
    description: str
    visibility: str
    promptCount: WholeNumber
    memberCount: WholeNumber
    createdAt: Moment


class NamedCount(_Model):
    """How often a category or a tag occurs."""

    name: str
    count: WholeNumber


class Stats(_Model):
    """The project's aggregate statistics."""

    promptCount: WholeNumber
    runCount: WholeNumber
    versionCount: WholeNumber
    categories: Annotated[list[NamedCount], FailFast()]
    tags: Annotated[list[NamedCount], FailFast()]
    lastUpdated: Moment


_EXPECTED = {
    "bool_type": "a boolean",
    "dict_type": "an object",
    "float_type": "a number",
    "int_type": "a number",
    "list_type": "a list",
    "model_type": "an object",
    "string_type": "a string",
    "timestamp_type": "a timestamp",
}

_JSON_NAMES = {
    bool: "a boolean",
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
}


def read_answer(
    operation: str, status: int, content_type: str, body: bytes, shape: TypeAdapter[T], *, name: str = ""
) -> T:
    """Read a successful answer's *body*; *name* is used in errors.

    Raises `NotUnderstood`, which names the problem and the field without its content: ``workflows[3].is_active: not a
    boolean but a string``.
    """
    # Not chained: the parser's and pydantic's messages quote the answer.
    try:
        return shape.validate_python(read_json(body))
    except ValidationError as exc:
        error = exc.errors(include_url=False, include_context=False)[0]
        kind, value = error["type"], error["input"]
        if kind == "missing":
            problem = "missing"
        elif kind == "timestamp":
            problem = "not an ISO 8601 timestamp"
        elif kind == "int_type" and isinstance(value, float):
            problem = "not a whole number"
        else:
            problem = f"not {_EXPECTED.get(kind, kind)} but {_JSON_NAMES.get(type(value), 'null')}"
        steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error["loc"])
        place = f"{name}{steps}".lstrip(".")
        problem = f"{place}: {problem}" if place else problem
    except ValueError:
        kind = media_type(content_type)
        problem = "not JSON" if kind in {"", "application/json"} else f"not JSON but {kind}"
        problem = problem if body.strip() else "an empty answer"
    raise NotUnderstood(operation, status, problem)


def refusal(
    operation: str, status: int, headers: Mapping[str, str], body: bytes, *, secret: str, now: datetime | None = None
) -> ServiceRefused:
    """Return the error for an unsuccessful answer; *secret* is removed from the service's message.

    *now* is for tests.
    """
    message = ""
    if len(body) <= _LARGEST_WITH_MESSAGE:
        if media_type(headers.get("content-type", "")) == "text/plain":
            message = body.decode(errors="replace")
        else:
            with suppress(ValueError):
                message = _message_in(read_json(body))
    # One line of printable characters (no control characters, no direction marks), cut.
    message = " ".join("".join(c if c.isprintable() else " " for c in message.replace(secret, "***")).split())
    message = message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1].rstrip() + "…"
    retry_after = _retry_after(headers, now or datetime.now(UTC))
    match status:
        case 401 | 403:
            return NotSignedIn(operation, status, message)
        case 404 | 410:
            return NotFound(operation, status, message)
        case 429:
            return Busy(operation, status, message, retry_after)
        case 503 if retry_after is not None:
            return Busy(operation, status, message, retry_after)
        case 502 | 503 | 504:
            return Outage(operation, status, message)
        case _:
            return ServiceRefused(operation, status, message)


def _retry_after(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """Read Retry-After, in seconds or as a date; None if it's absent or invalid."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,9})?", text):
        return timedelta(seconds=min(float(text), LONGEST_RETRY_AFTER.total_seconds()))
    moment = _http_date(text)
    if moment is None:
        return None
    # The service's clock may be off; its Date header shows it.
    wanted = moment - (_http_date(headers.get("date", "")) or now)
    return max(timedelta(0), min(wanted, LONGEST_RETRY_AFTER))


def _http_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _message_in(value: Any, depth: int = 3) -> str:
    """Find a message: a string, a common field of an object, or these in a list (FastAPI's ``detail``)."""
    if isinstance(value, str):
        return value
    if depth and isinstance(value, dict):
        found = (_message_in(value.get(name), depth - 1) for name in ("error", "message", "detail", "title", "msg"))
        return next((words for words in found if words.strip()), "")
    if depth and isinstance(value, list):
        return "; ".join(words for item in value[:5] if (words := _message_in(item, depth - 1)).strip())
    return ""


def read_json(body: bytes) -> Any:
    """Read standard JSON. Raises ValueError for everything else, including NaN and excessive nesting."""
    try:
        value = json.loads(body, parse_constant=_refuse_constant)
        # Lone surrogates are legal in JSON, but not in UTF-8, Redis or Slack.
        if b"\\ud" in body.lower():
            value = json.loads(_SURROGATE.sub("�", json.dumps(value, ensure_ascii=False)))
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def media_type(content_type: str) -> str:
    """Return the media type in a Content-Type header; ``""`` if it's absent or invalid."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind if re.fullmatch(r"[\w.+-]{1,40}/[\w.+-]{1,40}", kind) else ""
