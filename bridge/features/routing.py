"""`Router`: from the line that a person typed to the function that answers it.

One usage line, and a sentence that says what it does, declare a command:
``@router.command("/workflows run <workflow> [input]", "Run a workflow.")``. They give the parsing, the help, the
nearest command for what is mistyped, the ``!`` form, and the manifest. ``<x>`` is needed, ``[x]`` is not; the last one
takes the rest of the line as it is, the others one word each. ``<workflow>`` and ``<agent>`` are looked up, by id or
name, and arrive as what was found. A line that begins with ``!`` exists only in that form.

A router is built from routers. What is registered wrongly fails at import, with TypeError.
"""

from __future__ import annotations

import asyncio
import difflib
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from bridge.errors import BadUsage, BridgeError, UnknownCommand
from bridge.features.conversations.notices import help_lines
from bridge.features.deps import Call, Deps
from bridge.features.picking import pick
from bridge.features.plan import OpenForm, Plan, Show, StartThread
from bridge.queue.audit import named
from bridge.slack.blockkit.mrkdwn import mentions_in, plain_command_text
from bridge.slack.blockkit.reply import Audience, Reply

_HELP_SHARE: Final = "Add --share to what only shows something, and the whole channel sees the answer."

Handler = Callable[..., Awaitable[Plan]]

_USAGE: Final = re.compile(r"[/!][a-z][a-z-]*(?: [a-z][a-z-]*)*(?: <[a-z_]+>)*(?: \[[a-z_]+\])*")
_PARAMETER: Final = re.compile(r"([<\[])([a-z_]+)[>\]]")
_SHARE: Final = re.compile(r"(?:^|(?<=\s))(?:--|—|–)share(?=\s|$)", re.IGNORECASE)  # noqa: RUF001 - typed by phones
_BANG: Final = re.compile(r"\s*!([A-Za-z][\w-]*)(?=\s|$)")
_WORD: Final = re.compile(r"[a-z][\w-]*")
_HELP: Final = "help"
_LONG: Final = 6  # letters of a name in which two slips are as likely as one in a shorter one
_UNTOUCHED: Final = "input"  # goes to a workflow as it was typed


class Parameter(NamedTuple):
    """One ``<x>`` or ``[x]`` of a usage line."""

    name: str
    is_needed: bool


class ListedCommand(NamedTuple):
    """A slash command as Slack's manifest lists it; one *with_ids* gets channels, people and links as ids.

    Without, ``#general`` comes as it was typed. Whoever takes ``[input]`` gets it untouched; all others may be told a
    channel or a person. https://docs.slack.dev/interactivity/implementing-slash-commands
    """

    name: str
    description: str
    usage_hint: str
    with_ids: bool = True


@dataclass(frozen=True, slots=True)
class Command:
    """One usage line and what answers it."""

    usage: str
    handler: Handler
    path: tuple[str, ...]  # its fixed words, without the sigil
    parameters: tuple[Parameter, ...]
    sentence: str
    is_default: bool  # answers when only the command's name was typed
    is_reading: bool  # may be shared with the channel

    def shown(self, prefix: str) -> str:
        """Write the usage line as it is to be typed, with the configured *prefix* of slash commands."""
        return f"/{prefix}{self.usage[1:]}" if self.usage.startswith("/") else self.usage


class _Match(NamedTuple):
    command: Command
    rest: str


class Router:
    """Commands by their usage lines."""

    def __init__(self, *routers: Router) -> None:
        self._commands: list[Command] = []
        for router in routers:
            for command in router._commands:  # noqa: SLF001 - its own class
                self._add(command)

    def command(
        self, usage: str, sentence: str, *, default: bool = False, reading: bool = False
    ) -> Callable[[Handler], Handler]:
        """Register the function below as the answer to *usage*; the *sentence* is its help."""

        def register(handler: Handler) -> Handler:
            self._add(_declared(usage, sentence, handler, is_default=default, is_reading=reading))
            return handler

        return register

    async def answer(self, line: str, deps: Deps, call: Call) -> Plan:
        """Answer a line such as ``/workflows show 3``. Raises `CommandError` for what is not understood."""
        typed = plain_command_text(line, await _names_in(line, deps)).strip()
        unshared = " ".join(_SHARE.sub("", typed).split()) if _SHARE.search(typed) else ""
        if unshared and (match := self._match(unshared)) and match.command.is_reading:
            return _shared(await _carry_out(match, deps, call))
        if reply := self._help(typed, deps.command_prefix):
            return Show(reply)
        match = self._match(typed)
        if match is None:
            raise self._not_understood(typed, deps.command_prefix)
        return await _carry_out(match, deps, call)

    def bang_line(self, text: str) -> str | None:
        """Turn ``!stats`` into ``/stats``; None where no known command stands behind the exclamation mark.

        One word that is nearly a command becomes a line, too: `meant_by` says what it is nearly.
        """
        found, line = _BANG.match(text), "/" + text.strip()[1:]
        if found is None or not (found[1].casefold() in self._names() or self.meant_by(line)):
            return None
        return line

    def meant_by(self, line: str) -> str:
        """Name the command of which a *line* of one word is a slip; ``""`` where it is one, or near none."""
        word, names = line[1:].casefold(), self._names()
        if word in names or not _WORD.fullmatch(word):
            return ""
        near = [name for name in names if _slips(word, name) <= (1 if len(name) < _LONG else 2)]
        return min(near, key=lambda name: _slips(word, name), default="")

    def _names(self) -> list[str]:
        return list(dict.fromkeys([_HELP, *(command.path[0] for command in self._commands)]))

    def usages(self) -> list[str]:
        """List the usage lines."""
        return [command.usage for command in self._commands]

    def slash_commands(self, prefix: str = "") -> list[ListedCommand]:
        """List the slash commands for the manifest."""
        names = dict.fromkeys(command.path[0] for command in self._commands if command.usage.startswith("/"))
        return [self._slash_command(name, prefix) for name in names]

    def overview(self, prefix: str = "") -> Reply:
        """Show all commands."""
        lines = [(command.shown(prefix), command.sentence) for command in self._commands]
        return help_lines(
            "What you can ask for",
            lines,
            f"In threads, where Slack knows no slash commands, write ! in place of /. {_HELP_SHARE}",
        )

    def _add(self, command: Command) -> None:
        if any(command.path == known.path for known in self._commands):
            raise TypeError(f"{command.usage}: registered twice")
        if command.path[-1] == _HELP:
            raise TypeError(f"{command.usage}: help is made of the usage lines")
        if command.is_default and any(known.is_default for known in self._named(command.path[0])):
            raise TypeError(f"{command.usage}: {command.path[0]} has a default already")
        self._commands.append(command)

    def _named(self, name: str) -> list[Command]:
        return [command for command in self._commands if command.path[0] == name]

    def _match(self, typed: str) -> _Match | None:
        said = _words(typed)
        for command in sorted(self._commands, key=lambda command: -len(command.path)):
            rest = _rest_of(typed, len(command.path))
            if tuple(said[: len(command.path)]) == command.path and (command.parameters or not rest):
                return _Match(command, rest)
        if len(said) == 1:
            return next((_Match(command, "") for command in self._named(said[0]) if command.is_default), None)
        return None

    def _help(self, typed: str, prefix: str) -> Reply | None:
        said = _words(typed)
        if said == [_HELP]:
            return self.overview(prefix)
        known = self._named(said[0]) if said[1:] == [_HELP] else []
        lines = [(command.shown(prefix), command.sentence) for command in known]
        return help_lines(known[0].shown(prefix).split(" ")[0], lines, _HELP_SHARE) if known else None

    def _not_understood(self, typed: str, prefix: str) -> UnknownCommand | BadUsage:
        said = _words(typed)
        known = self._named(said[0]) if said else []
        if not known:
            return UnknownCommand(" ".join(said[:1]), self._nearest_names(said, prefix))
        for command in known:  # the words fit, and there were too many of them
            if len(command.path) > 1 and tuple(said[: len(command.path)]) == command.path:
                return BadUsage(command.shown(prefix))
        name = known[0].shown(prefix).split(" ")[0]
        return UnknownCommand(" ".join([name, *said[1:2]]), _nearest_lines(said, known, prefix))

    def _nearest_names(self, said: list[str], prefix: str) -> list[str]:
        names = {command.path[0]: command for command in reversed(self._commands)}
        near = difflib.get_close_matches(said[0], names, n=2) if said else []
        return [names[name].shown(prefix).split(" ")[0] for name in near]

    def _slash_command(self, name: str, prefix: str) -> ListedCommand:
        known = self._named(name)
        about = next((command for command in known if command.is_default), known[0])
        hints = [hint for command in known if (hint := command.usage.partition(" ")[2])]
        with_ids = all(parameter.name != _UNTOUCHED for command in known for parameter in command.parameters)
        return ListedCommand(f"/{prefix}{name}", about.sentence, " | ".join([*hints, _HELP]), with_ids)


async def _names_in(line: str, deps: Deps) -> dict[str, str]:
    """Look up what those are called whom a line mentions; who has no name but an id is left out."""
    mentions = mentions_in(line)
    ids = [*mentions.users, *mentions.channels]
    names = await asyncio.gather(*map(deps.name_of, mentions.users), *map(deps.channel_name_of, mentions.channels))
    return {id_: name for id_, name in zip(ids, names, strict=True) if name != id_}


def _declared(usage: str, sentence: str, handler: Handler, *, is_default: bool, is_reading: bool) -> Command:
    """Read a usage line, and check that the function fits it."""
    if not _USAGE.fullmatch(usage):
        raise TypeError(f"{usage}: not a usage line")
    if not sentence:
        raise TypeError(f"{usage}: the command needs a sentence, which is its help")
    parameters = tuple(Parameter(name, bracket == "<") for bracket, name in _PARAMETER.findall(usage))
    _check_signature(usage, handler, parameters)
    path = tuple(word for word in usage[1:].split(" ") if word[0] not in "<[")
    return Command(usage, handler, path, parameters, sentence, is_default, is_reading)


def _check_signature(usage: str, handler: Handler, parameters: tuple[Parameter, ...]) -> None:
    taken = list(inspect.signature(handler).parameters.values())
    if not inspect.iscoroutinefunction(handler) or [p.name for p in taken[:2]] != ["deps", "call"]:
        raise TypeError(f"{usage}: needs async def …(deps, call)")
    if any(p.kind is not inspect.Parameter.KEYWORD_ONLY for p in taken[2:]):
        raise TypeError(f"{usage}: parameters are keyword-only")
    if [Parameter(p.name, p.default is inspect.Parameter.empty) for p in taken[2:]] != list(parameters):
        raise TypeError(f"{usage}: parameters do not match the usage line; what is optional needs a default")


async def _carry_out(match: _Match, deps: Deps, call: Call) -> Plan:
    command, rest = match
    values: dict[str, Any] = {}
    for place, parameter in enumerate(command.parameters):
        if not rest:
            if parameter.is_needed:
                raise BadUsage(command.shown(deps.command_prefix))
            break
        is_last = place == len(command.parameters) - 1
        values[parameter.name], rest = await _read(parameter.name, rest, deps, takes_rest=not is_last)
    try:
        plan = await command.handler(deps, call, **values)
    except BridgeError as exc:
        exc.about = exc.about or _about(values)
        raise
    if isinstance(plan, Show | OpenForm | StartThread) and not plan.about:
        return replace(plan, about=_about(values))
    return plan


def _about(values: Mapping[str, Any]) -> str:
    """Name for the audit what a command was about; never what was said."""
    found = ((kind, values.get(kind)) for kind in ("workflow", "agent"))
    return next((named(kind, one.id, one.name) for kind, one in found if one is not None), "")


async def _read(name: str, text: str, deps: Deps, *, takes_rest: bool) -> tuple[Any, str]:
    """Read one parameter from the front of *text*."""
    if name == "workflow":
        return pick(name, text, await deps.catalog.get_workflows(), takes_rest=takes_rest)
    if name == "agent":
        return pick(name, text, await deps.catalog.get_agents(), takes_rest=takes_rest)
    if not takes_rest:
        return text, ""
    return text.split(maxsplit=1)[0], _rest_of(text, 1)


def _slips(typed: str, name: str) -> int:
    """Count the letters that are missing, too many, wrong, or two of them turned round."""
    if abs(len(typed) - len(name)) > 2:  # noqa: PLR2004 - never near
        return len(name)
    before, last, row = [0] * (len(name) + 1), list(range(len(name) + 1)), [0]
    for at, letter in enumerate(typed):
        row = [at + 1]
        for place, wanted in enumerate(name):
            count = min(row[-1] + 1, last[place + 1] + 1, last[place] + (letter != wanted))
            if at and place and (letter, typed[at - 1]) == (name[place - 1], wanted):
                count = min(count, before[place - 1] + 1)
            row.append(count)
        before, last = last, row
    return row[-1]


def _shared(plan: Plan) -> Plan:
    if isinstance(plan, Show):
        return Show(plan.reply.model_copy(update={"audience": Audience.CHANNEL}))
    return plan


def _nearest_lines(said: list[str], known: list[Command], prefix: str) -> list[str]:
    """Find the usage lines whose second word looks like what was typed, or else show all of the command."""
    second = {command.path[1]: command for command in known if len(command.path) > 1}
    near = difflib.get_close_matches(said[1], second, n=2, cutoff=0.5) if len(said) > 1 else []
    return [command.shown(prefix) for command in ([second[word] for word in near] or known)]


def _words(typed: str) -> list[str]:
    return typed.lstrip("/!").casefold().split()


def _rest_of(typed: str, count: int) -> str:
    """Take the first *count* words away and leave the rest as it is."""
    parts = typed.split(maxsplit=count)
    return parts[count] if len(parts) > count else ""
