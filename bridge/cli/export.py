"""`bridge export` and `bridge import`: everything that people have set up, as JSON lines."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, Field, ValidationError

from bridge.cli.printing import out, to_json
from bridge.cli.running import WRONG_SETTINGS, say
from bridge.cli.store import in_store
from bridge.engine.standing import ExportedLine, Standing
from bridge.errors import ConfigurationError
from bridge.features.registry import features
from bridge.queue.scripting import Scripts

_VERSION = 1  # of the lines
_OTHER = typer.Option("--other-workspace", help="Import it though it's from another workspace, as this one's.")


class ExportHeading(BaseModel, frozen=True):
    """The first line of an export."""

    bridge: str = Field(pattern="^export$")
    v: int = Field(ge=_VERSION, le=_VERSION)
    team: str


def export() -> None:
    """Print everything that people have set up, as JSON lines.

    That's schedules, alerts, channel settings with their rules for apps, and agents' handles. The first line has the
    version and the workspace. Redirect it to a file, and bridge import sets it up again.
    """

    async def show(scripts: Scripts) -> int:
        await print_all(scripts)
        return 0

    in_store(show)


def imports(
    file: Annotated[str, typer.Argument(metavar="FILE", help="From bridge export; - is standard input.")] = "-",
    *,
    other_workspace: Annotated[bool, _OTHER] = False,
) -> None:
    """Set up what bridge export printed.

    What's there already stays as it is, and so does what the file doesn't have. A file with a mistake is refused whole.
    """
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "not text"
        say(f"{file} can't be read ({why}): use the output of bridge export")
        raise typer.Exit(WRONG_SETTINGS) from None

    async def set_all(scripts: Scripts) -> int:
        items = read(text, await _workspace(scripts), other_workspace=other_workspace)
        done, same = [], 0
        for kind, of_kind in items.items():
            assert kind.portable is not None  # noqa: S101 - only such kinds are read
            count = await kind.portable.written(scripts, of_kind, scripts.clock.now())
            done += [kind.counted(count)] if count else []
            same += len(of_kind) - count
        out(f"Set up: {', '.join(done) or 'nothing'}.{f' {same} already there.' if same else ''}")
        return 0

    in_store(set_all)


async def print_all(scripts: Scripts) -> None:
    """Print the lines of an export; what `out` would replace in them is escaped."""
    out(to_json({"bridge": "export", "v": _VERSION, "team": await _workspace(scripts)}))
    for kind in features.standing:
        for line in await kind.portable.lines(scripts) if kind.portable else ():
            out(to_json(line.model_dump(exclude_defaults=True)))


async def _workspace(scripts: Scripts) -> str:
    """Return the ID of the workspace whose bridge has used this Redis; ``""`` if none has."""
    return str(await scripts.redis.hget(scripts.keys.owner(), "team") or "")


def read(text: str, own: str, *, other_workspace: bool = False) -> Mapping[Standing, list[Any]]:
    """Read an export for the workspace *own*, if that's known: what it has, by kind.

    Raises `ConfigurationError` with all that's wrong.
    """
    kinds = {kind.noun: kind for kind in features.standing if kind.portable}
    problems, items = list[str](), defaultdict[Standing, list[Any]](list)
    numbered = [
        (number, line) for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1) if line.strip()
    ]
    try:
        heading = ExportHeading.model_validate_json(numbered[0][1] if numbered else "")
    except ValidationError:
        why = f"The first line isn't that of an export of version {_VERSION}: use the output of bridge export"
        raise ConfigurationError([why]) from None
    is_other = bool(own and heading.team and heading.team != own)
    if is_other and not other_workspace:
        why = f"The export is from the workspace {heading.team}, and this bridge serves {own}"
        raise ConfigurationError([f"{why}: add --other-workspace if its channels and people have the same IDs"])
    for number, line in numbered[1:]:
        try:
            exported = ExportedLine.model_validate_json(line)
            kind = kinds[exported.kind]
            assert kind.portable is not None  # noqa: S101
            if is_other:
                spec = {**exported.spec, "team": own} if "team" in exported.spec else exported.spec
                _there, colon, channel = exported.id.partition(":")
                id_ = f"{own}:{channel}" if colon else exported.id
                exported = exported.model_copy(update={"spec": spec, "id": id_})  # as one of this workspace
            items[kind].append(kind.portable.read(exported))
        except KeyError:
            problems.append(f"Line {number} has the kind {json.dumps(exported.kind)}: use {', '.join(kinds)}")
        except ValidationError as exc:
            problems += [
                f"Line {number}: {_problem(error)}" for error in exc.errors(include_url=False, include_input=False)
            ]
        except ValueError as exc:
            problems.append(f"Line {number}: {exc}")
    if problems:
        raise ConfigurationError(problems)
    return items


def _problem(problem: Any) -> str:
    """Say what's wrong, after the field's name."""
    name = ".".join(str(part) for part in problem["loc"])
    match problem["type"]:
        case "value_error":
            return f"{name} {problem['ctx']['error']}".strip()
        case "missing":
            return f"{name} is missing"
        case "extra_forbidden":
            return f"{name} isn't a field: check its spelling"
    return f"{name} isn't valid: {str(problem['msg'])[:1].lower()}{str(problem['msg'])[1:]}".strip()
