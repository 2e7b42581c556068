"""Does the project service answer each operation that reads? Counts are shown, never contents."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, Final, TypeVar

from bridge.errors import (
    Busy,
    CannotConnect,
    CircuitOpen,
    ConnectionLost,
    NotFound,
    NotSignedIn,
    NotUnderstood,
    Outage,
    ProjectError,
    ServiceRefused,
    TimedOut,
)
from bridge.ops.rows import Row, State
from bridge.project import ProjectClient

AREA: Final = "Project service"

_ANSWER_TIMEOUT: Final = timedelta(seconds=5)
_CONNECT_TIMEOUT: Final = timedelta(seconds=3)
_WRONG_ADDRESS: Final = "look at PROJECT_BASE_URL: it is the service's own address, to which /api/sdk/… is added"
_LATER: Final = "look at the service, and check again"

T = TypeVar("T")


async def project_rows(base_url: str, api_key: str) -> list[Row]:
    """Ask for everything that can be read."""
    async with ProjectClient(
        base_url, api_key, read_timeout=_ANSWER_TIMEOUT, connect_timeout=_CONNECT_TIMEOUT
    ) as project:
        try:
            await project.get_project()
        except (CannotConnect, NotSignedIn) as exc:  # the same would be said of every other operation
            return [_trouble_row("get_project", exc)]
        except ProjectError as exc:
            first = _trouble_row("get_project", exc)
        else:
            first = Row(AREA, "get_project", State.OK, "reachable, the key is accepted")
        stats, workflows, agents = await asyncio.gather(
            _stats_rows(project),
            _list_rows("workflow", project.get_workflows(), project.get_workflow),
            _list_rows("agent", project.get_agents(), project.get_agent),
        )
    return [first, *workflows, *agents, *stats]


async def _stats_rows(project: ProjectClient) -> list[Row]:
    row, stats = await _asked("get_stats", project.get_stats())
    if stats is None:
        return [row]
    return [_well("get_stats", f"{_counted(stats.runCount, 'run')}, {_counted(stats.promptCount, 'prompt')}")]


async def _list_rows(noun: str, listing: Awaitable[list[Any]], read: Callable[[int], Awaitable[Any]]) -> list[Row]:
    """Ask for the list, and for the first that is on it."""
    row, found = await _asked(f"get_{noun}s", listing)
    if found is None:
        return [row]
    listed = _well(f"get_{noun}s", _counted(len(found), noun))
    if not found:
        return [listed, Row(AREA, f"get_{noun}", State.WARNING, f"not asked, for there is no {noun} in the project")]
    one, _ = await _asked(f"get_{noun}", read(found[0].id))
    return [listed, one]


async def _asked(operation: str, answer: Awaitable[T]) -> tuple[Row, T | None]:
    try:
        value = await answer
    except ProjectError as exc:
        return _trouble_row(operation, exc), None
    return _well(operation, "answers as documented"), value


def _well(operation: str, detail: str) -> Row:
    return Row(AREA, operation, State.OK, detail)


def _trouble_row(operation: str, error: ProjectError) -> Row:
    return Row(AREA, operation, State.FAILURE, *_explained(error))


def _explained(error: ProjectError) -> tuple[str, str]:  # noqa: C901 - a table of cases
    """Say what happened and what to do about it."""
    match error:
        case CannotConnect():
            cure = "see that the service runs there, and that PROJECT_BASE_URL and a proxy (HTTPS_PROXY) are right"
            return f"no connection could be made ({error.detail})", cure
        case CircuitOpen():
            return "not asked: the service was gone too often just now", _LATER
        case TimedOut() | ConnectionLost():
            return f"no whole answer ({error.detail})", _LATER
        case NotUnderstood(problem=problem) if problem.startswith("not JSON but text/html"):
            return f"a web page came in place of an answer ({error.detail})", _WRONG_ADDRESS
        case NotUnderstood():
            cure = "the service does not keep to its interface, or PROJECT_BASE_URL names another one"
            return f"the answer is not what is documented: {error.detail}", cure
        case NotSignedIn():
            return f"the key is not accepted ({_said(error)})", "copy PROJECT_API_KEY again, for this very project"
        case NotFound():
            return f"there is no such thing at this address ({_said(error)})", _WRONG_ADDRESS
        case Busy() | Outage():
            return f"it is not available now ({_said(error)})", _LATER
        case ServiceRefused(status=status) if 300 <= status < 400:  # noqa: PLR2004 - HTTP's redirects
            return f"the address sends us elsewhere ({status}), and the key does not follow", _WRONG_ADDRESS
        case ServiceRefused():
            return f"it refused ({_said(error)})", _LATER
    return f"it failed ({error})", _LATER


def _said(error: ServiceRefused) -> str:
    """Quote the service's own words, which the client has cut and cleaned."""
    return f"{error.status}: “{error.said}”" if error.said else str(error.status)


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
