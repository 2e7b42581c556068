# ruff: noqa: N815 - the fields carry the wire's own names, some of which are in camel case
"""The project service's data, with the service's field names.

A field that's absent, null or of another type is None or empty, except for the few without which a row or an answer is
of no use. A number may be written as a string of digits, a flag as 0 or 1. Fields of undocumented type (nodes, edges,
tools, nodeResults, output, toolsUsed) are any JSON. Unknown fields become attributes, and are in ``model_extra``.

`bridge.project.reading` makes them of the service's JSON; what doesn't fit is passed to the validation's context.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from bridge.names.listing import Listing
from bridge.unseen import is_blank

LEFT_OUT: Final = "(left out)"
"""Ends the problem of a row or an item that can't be used."""

MOST_ROWS: Final = 10_000
"""How many rows of a list are used: more would take too long to sort and search, wherever they're shown."""

_DIGITS: Final = re.compile("-?[0-9]{1,1000}")
_FLAGS: Final = {0: False, 1: True, "0": False, "1": True, "false": False, "true": True}
_WORDS: Final = ("text", "content", "message", "value", "output", "answer")
"""Fields in which an answer that's an object has its text."""


def _number(value: object) -> object:
    """Read ``3.0`` and ``"3"`` as 3; pydantic's strict mode checks the rest."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, str) and _DIGITS.fullmatch(value) else value


def _flag(value: object) -> object:
    key = value.lower() if isinstance(value, str) else value
    return _FLAGS.get(key, value) if isinstance(key, int | str) else value


def _text(value: object) -> object:
    return json.dumps(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _words(value: object) -> object:
    """Find the text in an answer that isn't a string: in its parts, or as JSON."""
    match value:
        case None | str():
            return value
        case list() if all(isinstance(part, str | dict) for part in value):
            return "\n".join(str(_words(part)) for part in value)
        case dict():
            for name in _WORDS:
                if isinstance(inner := value.get(name), str | list | dict) and inner:
                    return _words(inner)
    return json.dumps(value, ensure_ascii=False, indent=2)


def _moment(value: object) -> datetime | None:
    """Read an ISO 8601 timestamp; without an offset it's in UTC, as documented."""
    if value is None or isinstance(value, datetime):  # the latter is built in Python, not read from the wire
        return value
    if not isinstance(value, str):
        raise PydanticCustomError("timestamp_type", "not a timestamp")
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise PydanticCustomError("timestamp", "not an ISO 8601 timestamp") from exc


def _or(default: object) -> WrapValidator:
    """Use *default* in place of a value that doesn't fit, and note that."""

    def use(value: object, check: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        try:
            return check(value)
        except ValidationError as exc:
            if value is not None and info.context is not None:
                info.context(f"{info.field_name}: {problem_with(exc)}")
            return default

    return WrapValidator(use)


def _usable_items(items: object, check: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """Leave out the items of a list that don't fit, and note them; then, or without a list, it's only a part."""
    usable: Listing[Any] = Listing(is_part=not isinstance(items, list) or len(items) > MOST_ROWS)
    for index, item in enumerate(items[:MOST_ROWS] if isinstance(items, list) else ()):
        try:
            usable += check([item])
        except ValidationError as exc:
            usable.is_part = True
            if info.context is not None:
                info.context(f"{info.field_name}{problem_with(exc).replace('[0]', f'[{index}]', 1)} {LEFT_OUT}")
    if not isinstance(items, list) and items is not None and info.context is not None:
        info.context(f"{info.field_name}: not a list but {kind_of(items)}")
    return usable


LenientInt = Annotated[int, BeforeValidator(_number)]
MaybeNumber = Annotated[int | None, BeforeValidator(_number), _or(None)]
MaybeFlag = Annotated[bool | None, BeforeValidator(_flag), _or(None)]
MaybeText = Annotated[str | None, BeforeValidator(_text), _or(None)]
LenientStr = Annotated[str, BeforeValidator(_text), _or("")]
MaybeFraction = Annotated[float | None, _or(None)]
MaybeMoment = Annotated[datetime | None, BeforeValidator(_moment), _or(None)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, strict=True, protected_namespaces=())


class _MayBeCut(_Model):
    """An answer of which only the beginning may have been read, because it's too large."""

    _size: int | None = PrivateAttr(None)

    @property
    def is_cut(self) -> bool:
        """Whether only the beginning of the answer was read."""
        return self._size is not None

    @property
    def size(self) -> int:
        """How many bytes the whole answer of which this is the beginning has; 0 if that's unknown."""
        return self._size or 0

    def cut_from(self, size: int) -> Self:
        """Note that this is the beginning of an answer with *size* bytes (0: unknown)."""
        self._size = size
        return self


class _Named(_Model):
    """Something in a list; if nothing of its name can be seen, that's its ID, such as ``Agent 7``."""

    id: LenientInt
    name: LenientStr = ""

    @model_validator(mode="after")
    def _can_be_seen(self) -> Self:
        if is_blank(self.name):
            self.__dict__["name"] = f"{type(self).__name__} {self.id}"
        return self


class Workflow(_Named):
    """A workflow in the list. If the service doesn't say whether it's active, it is."""

    description: MaybeText = None
    is_active: Annotated[bool, BeforeValidator(_flag), _or(True)] = True
    trigger_type: MaybeText = None
    node_count: MaybeNumber = None


class WorkflowDetail(_Model):
    """A workflow with its *nodes* and *edges*, whose shape is the service's own.

    Only those two are documented; the rest is what the list has, if the service sends it.
    """

    id: MaybeNumber = None
    name: MaybeText = None
    description: MaybeText = None
    is_active: MaybeFlag = None
    trigger_type: MaybeText = None
    node_count: MaybeNumber = None
    nodes: Any = None
    edges: Any = None


class RunResult(_MayBeCut):
    """The result of a workflow run; *output* and *nodeResults* are any JSON."""

    runId: Annotated[int | str | None, BeforeValidator(_number), _or(None)] = None
    status: LenientStr = ""
    output: Any = None
    nodeResults: Any = None


class Agent(_Named):
    """An agent in the list."""

    description: MaybeText = None
    model: MaybeText = None
    temperature: MaybeFraction = None
    welcome_message: MaybeText = None


class AgentDetail(_Model):
    """An agent with its *tools*, whose shape is the service's own.

    The other fields are undocumented; they're those of the list, if the service sends them.
    """

    id: MaybeNumber = None
    name: MaybeText = None
    description: MaybeText = None
    model: MaybeText = None
    temperature: MaybeFraction = None
    welcome_message: MaybeText = None
    tools: Any = None


Item = TypeVar("Item", Workflow, Agent)


class ChatAnswer(_MayBeCut):
    """An agent's reply, and the session to continue, if it can be used; *toolsUsed* is any JSON, usually an array."""

    sessionId: MaybeNumber = None
    message: Annotated[str, BeforeValidator(_words)]
    toolsUsed: Any = None


class Project(_Model):
    """The project."""

    id: MaybeNumber = None
    name: LenientStr = ""
    description: LenientStr = ""
    visibility: MaybeText = None
    promptCount: MaybeNumber = None
    memberCount: MaybeNumber = None
    createdAt: MaybeMoment = None


class NamedCount(_Model):
    """How often a category or a tag occurs."""

    name: Annotated[str, BeforeValidator(_text)]
    count: LenientInt


NamedCounts = Annotated[list[NamedCount], WrapValidator(_usable_items)]


class Stats(_Model):
    """The project's aggregate statistics."""

    promptCount: MaybeNumber = None
    runCount: MaybeNumber = None
    versionCount: MaybeNumber = None
    categories: NamedCounts = Listing(is_part=True)
    tags: NamedCounts = Listing(is_part=True)
    lastUpdated: MaybeMoment = None


_EXPECTED: Final = {
    "bool_type": "a boolean",
    "dict_type": "an object",
    "float_type": "a number",
    "int_type": "a number",
    "list_type": "a list",
    "model_type": "an object",
    "string_type": "a string",
    "timestamp_type": "a timestamp",
}

_JSON_NAMES: Final = {
    bool: "a boolean",
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a number",
    float: "a number",
}


def kind_of(value: object) -> str:
    """Name the JSON type of *value*."""
    return _JSON_NAMES.get(type(value), "null")


def problem_with(error: ValidationError) -> str:
    """Describe what doesn't fit, with its place but without its content: ``id: not a number but a string``."""
    first = error.errors(include_url=False, include_context=False)[0]
    kind, value = first["type"], first["input"]
    if kind == "missing":
        problem = "missing"
    elif kind == "timestamp":
        problem = "not an ISO 8601 timestamp"
    elif kind == "int_type" and isinstance(value, float):
        problem = "not a whole number"
    else:
        problem = f"not {_EXPECTED.get(kind, kind)} but {kind_of(value)}"
    steps = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in first["loc"])
    return f"{steps}: {problem}".removeprefix(".") if steps else problem
