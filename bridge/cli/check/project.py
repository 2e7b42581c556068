"""`bridge check`: the project service, by its read operations."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, TypeVar

from bridge.cli.rows import FAILURE, OK, PROJECT, WARNING, Row, trouble_row
from bridge.config import ProjectKey, ProjectSettings
from bridge.engine.unknown_names import Lists
from bridge.errors import CannotConnect, NotSignedIn, ProjectError
from bridge.features.conversations.answering import configured
from bridge.names.listing import Listing
from bridge.project import ProjectClient
from bridge.project.connection import DEFAULT
from bridge.project.models import Item as RowOf
from bridge.slack.blockkit.kit import counted, first_of

T = TypeVar("T")
_MOST_UNUSABLE: Final = 5
_TELLING: Final = frozenset({"get_project", "get_workflows", "get_agents"})


async def one_row(project: ProjectSettings, lists: Lists) -> list[Row]:
    """Check one of several projects, in one row: its first problem, or what it has, which is put into *lists*."""
    key = project.api_key.get_secret_value()
    rows = await project_rows(project.base_url, key, project.default_agent, id_=project.id, lists=lists)
    what = project.id if project.name == project.id else f"{project.id} ({project.name})"
    worst = next((row for state in (FAILURE, WARNING) for row in rows if row.state == state), None)
    if worst is None:
        return [Row(PROJECT, what, OK, "; ".join(row.detail for row in rows if row.what in _TELLING))]
    cure = worst.cure
    if project.id != DEFAULT:  # it's set in the file
        cure = cure.replace("PROJECT_BASE_URL", f"projects.{project.id}.base_url")
        cure = cure.replace("this project's PROJECT_API_KEY", f"the key of projects.{project.id}")
        cure = cure.replace("BRIDGE_DEFAULT_AGENT", f"projects.{project.id}.default_agent")
    return [replace(worst, what=what, detail=f"{worst.what}: {worst.detail}", cure=cure)]


async def key_row(project: ProjectSettings, key: ProjectKey) -> list[Row]:
    """Check another *key* of a project, in one row, by the operation that needs least."""
    what = f"{project.id}, {key.name}"
    try:
        async with _client(project.base_url, key.api_key.get_secret_value()) as client:
            await client.get_project()
    except ProjectError as exc:
        row = trouble_row(what, exc)
        return [replace(row, cure=row.cure.replace("PROJECT_API_KEY", key.name))]
    return [Row(PROJECT, what, OK, "key accepted")]


def _client(
    base_url: str, api_key: str, note: Callable[[str, Sequence[str]], None] = lambda _operation, _problems: None
) -> ProjectClient:
    quickly, soon = timedelta(seconds=3), timedelta(seconds=5)
    return ProjectClient(base_url, api_key, read_timeout=soon, connect_timeout=quickly, note=note)


async def project_rows(
    base_url: str, api_key: str, default_agent: str = "", *, id_: str = DEFAULT, lists: Lists | None = None
) -> list[Row]:
    """Call every read operation of the service, and look for the *default_agent*.

    The workflows and agents are put into *lists* as those of project *id_*, if both can be listed.
    """
    unusable: dict[str, Sequence[str]] = {}
    async with _client(base_url, api_key, unusable.__setitem__) as project:
        try:
            await project.get_project()
        except (CannotConnect, NotSignedIn) as exc:  # every other operation would fail the same way
            return [trouble_row("get_project", exc)]
        except ProjectError as exc:
            first = trouble_row("get_project", exc)
        else:
            first = Row(PROJECT, "get_project", OK, "reachable, key accepted")
        (numbers, stats), (workflows, has), (agents, listed) = await asyncio.gather(
            _called("get_stats", project.get_stats()),
            _list_rows("workflow", project.get_workflows(), project.get_workflow),
            _list_rows("agent", project.get_agents(), project.get_agent),
        )
    if lists is not None and has is not None and listed is not None:
        lists.workflows[id_], lists.agents[id_] = has, listed
    if stats:
        counts = ((stats.runCount, "run"), (stats.promptCount, "prompt"))
        known = ", ".join(counted(count, noun) for count, noun in counts if count is not None)
        numbers = replace(numbers, detail=known or numbers.detail)
    others = [*workflows, *agents, numbers]
    if default_agent and listed and configured(default_agent, listed) is None:
        cure = "set BRIDGE_DEFAULT_AGENT to an agent's ID or name"
        others.append(Row(PROJECT, "default agent", WARNING, f"no agent is called {default_agent}", cure))
    if all((row.detail, row.cure) == (first.detail, first.cure) for row in others):
        return [replace(first, detail=f"{first.detail}; the other calls fail the same way")]
    rows = [first, *others]
    for at, row in enumerate(rows):
        if row.state is OK and (problems := unusable.get(row.what)):
            cure = "report it to the service's developers; the bridge uses the rest"
            detail = f"{row.detail}; not as documented: {first_of(problems, _MOST_UNUSABLE, '; ')}"
            rows[at] = replace(row, state=WARNING, detail=detail, cure=cure)
    return rows


async def _list_rows(
    noun: str, listing: Awaitable[Listing[RowOf]], read: Callable[[int], Awaitable[Any]]
) -> tuple[list[Row], Listing[RowOf] | None]:
    """Read the list, and its first entry; returns the list, too."""
    row, items = await _called(f"get_{noun}s", listing)
    if items is None:
        return [row], None
    listed = replace(row, detail=counted(len(items), noun))
    if items.is_part:
        detail = f"{listed.detail}, but the service says that there are more"
        cure = "have the service list all of them; until then, people reach the others by their IDs only"
        listed = replace(row, state=WARNING, detail=detail, cure=cure)
    if not items:
        return [listed, Row(PROJECT, f"get_{noun}", WARNING, f"skipped: the project has no {noun}s")], items
    first: Any = items[0]
    return [listed, (await _called(f"get_{noun}", read(first.id)))[0]], items


async def _called(operation: str, answer: Awaitable[T]) -> tuple[Row, T | None]:
    try:
        return Row(PROJECT, operation, OK, "works as documented"), await answer
    except ProjectError as exc:
        return trouble_row(operation, exc), None
