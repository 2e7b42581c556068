# ruff: noqa: N815 - the fields carry the wire's own names, some of which are in camel case
"""What the project service answers, with the wire's own field names.

What the interface documents is required and checked; what it leaves open (nodes, edges, tools, nodeResults,
output, the elements of toolsUsed) is passed through as JSON. An optional field that is absent or null is None.
Unknown fields are kept: as attributes, and all together in ``model_extra``.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic_core import PydanticCustomError


def _whole_number(value: object) -> int:
    """Read JSON's ``3`` and ``3.0``, which are the same number, as 3; ``true`` and ``"3"`` are none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PydanticCustomError("whole_number", "not a number")
    if isinstance(value, float) and not value.is_integer():
        raise PydanticCustomError("fraction", "not a whole number")
    return int(value)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise PydanticCustomError("number", "not a number")
    return value


def _moment(value: object) -> datetime:
    """Read an ISO 8601 timestamp; one without an offset is in UTC, as the interface says of all of them."""
    if isinstance(value, datetime):  # built in Python, not read from the wire
        return value
    if not isinstance(value, str):
        raise PydanticCustomError("timestamp", "not a timestamp")
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise PydanticCustomError("timestamp_text", "not an ISO 8601 timestamp") from exc


def _if_it_fits(value: object, check: ValidatorFunctionWrapHandler) -> Any:
    """Take a field that the interface promises nowhere for what it seems to be, or leave it out."""
    try:
        return check(value)
    except ValidationError:
        return None


WholeNumber = Annotated[int, BeforeValidator(_whole_number)]
Number = Annotated[float, BeforeValidator(_number)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
_Undocumented = WrapValidator(_if_it_fits)


class _Answer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, strict=True, protected_namespaces=())


class Workflow(_Answer):
    """A workflow as the list shows it."""

    id: WholeNumber
    name: str
    description: str | None = None
    is_active: bool
    trigger_type: str
    node_count: WholeNumber


class WorkflowDetail(_Answer):
    """A workflow with its *nodes* and *edges*, whose inner shape is the service's own.

    The interface documents only those two; the rest is what the list item has, where the service sends it.
    """

    id: Annotated[WholeNumber | None, _Undocumented] = None
    name: Annotated[str | None, _Undocumented] = None
    description: Annotated[str | None, _Undocumented] = None
    is_active: Annotated[bool | None, _Undocumented] = None
    trigger_type: Annotated[str | None, _Undocumented] = None
    node_count: Annotated[WholeNumber | None, _Undocumented] = None
    nodes: Any = None
    edges: Any = None


class RunResult(_Answer):
    """What became of a workflow run; *output* and *nodeResults* are any JSON."""

    runId: WholeNumber
    status: str
    output: Any = None
    nodeResults: Any = None


class Agent(_Answer):
    """An agent as the list shows it."""

    id: WholeNumber
    name: str
    description: str | None = None
    model: str
    temperature: Number | None = None
    welcome_message: str | None = None


class AgentDetail(_Answer):
    """An agent with its connected *tools*, whose shape is the service's own.

    The interface does not list the other fields; they are what the list item has, where the service sends it.
    """

    id: Annotated[WholeNumber | None, _Undocumented] = None
    name: Annotated[str | None, _Undocumented] = None
    description: Annotated[str | None, _Undocumented] = None
    model: Annotated[str | None, _Undocumented] = None
    temperature: Annotated[Number | None, _Undocumented] = None
    welcome_message: Annotated[str | None, _Undocumented] = None
    tools: Any = None


class ChatAnswer(_Answer):
    """An agent's reply, and the session to continue; *toolsUsed* is any JSON, usually an array."""

    sessionId: WholeNumber
    message: str
    toolsUsed: Any = None


class Project(_Answer):
    """The project."""

    id: WholeNumber
    name: str
    description: str
    visibility: str
    promptCount: WholeNumber
    memberCount: WholeNumber
    createdAt: Moment


class NamedCount(_Answer):
    """How often a category or a tag occurs."""

    name: str
    count: WholeNumber


class Stats(_Answer):
    """The project's aggregate statistics."""

    promptCount: WholeNumber
    runCount: WholeNumber
    versionCount: WholeNumber
    categories: Annotated[list[NamedCount], FailFast()]
    tags: Annotated[list[NamedCount], FailFast()]
    lastUpdated: Moment
