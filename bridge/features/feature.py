"""`Feature`: what a feature answers, declared beside the functions that answer it.

::

    workflows = Feature("workflows")

    @workflows.command("/workflows run [workflow] [input]", "Run a workflow. Without an input, a form asks for it.")
    async def run_workflow(deps, turn, *, workflow=None, input=""): ...

    @workflows.button(run_card.AGAIN)
    async def run_again(deps, turn, click): ...

Every handler is a coroutine that may run again (`bridge.queue.turn`) and returns a `Result`. A usage line and its
sentence declare a command: parsing, help, suggestions for typos, the ``!`` form, the manifest and audit names follow.
``<x>`` is required, ``[x]`` optional; the last takes the rest of the line, the others one word each. ``<workflow>`` and
``<agent>`` are looked up by ID or name. ``<all|mentions>`` is one of these words, passed as *choice*. A line that
begins with ``!`` exists only in that form.

Wrong registrations raise TypeError at import.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, Literal, NamedTuple, TypeVar

from bridge.errors import BadUsage
from bridge.features.results import Outcome, Result
from bridge.inbound import Inbound
from bridge.queue.records import Write
from bridge.slack.blockkit.reply import Block, Reply

Handler = Callable[..., Awaitable[Result]]
H = TypeVar("H", bound=Handler)
A = TypeVar("A", bound=Callable[..., Awaitable[None]])
U = TypeVar("U", bound=Callable[..., Awaitable[Outcome]])
FormReader = Callable[[Mapping[str, Any]], object]
EventReader = Callable[[Mapping[str, Any], str], Inbound | None]
R = TypeVar("R", bound=EventReader)
N = TypeVar("N", bound=Callable[..., Reply])
HomeSection = Callable[..., Awaitable[list[Block]]]
S = TypeVar("S", bound=HomeSection)
SlotsDue = Callable[..., Awaitable[Sequence["Slot"]]]
D = TypeVar("D", bound=SlotsDue)

_USAGE: Final = re.compile(r"[/!][a-z][a-z-]*(?: [a-z][a-z-]*)*(?: <[a-z_|]+>)*(?: \[[a-z_]+\])*")
_PARAMETER: Final = re.compile(r"([<\[])([a-z_|]+)[>\]]")
HELP: Final = "help"
_EXAMPLES: Final = {"workflow": "3", "agent": "Support", "app": "Monitoring", "when": "7d", "session": "12"}


class Parameter(NamedTuple):
    """One ``<x>`` or ``[x]`` of a usage line; ``<x|y>``, passed as *choice*, is one of these words."""

    name: str
    is_needed: bool
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """One usage line and what answers it."""

    usage: str
    handler: Handler
    path: tuple[str, ...]  # its fixed words, without / or !
    parameters: tuple[Parameter, ...]
    sentence: str
    is_default: bool  # answers if only the command's name was typed
    is_reading: bool  # may be shared with the channel
    form: Block | None  # a button that opens a form for the same

    @property
    def is_for_threads(self) -> bool:
        """Whether it exists only with ``!``."""
        return self.usage.startswith("!")

    def shown(self, start: str) -> str:
        """Write the usage line as typed: *start* is ``/``, with the slash commands' prefix, or ``!``."""
        return self.usage if self.is_for_threads else f"{start}{self.usage[1:]}"

    def misused(self, start: str, typed: str = "") -> BadUsage:
        """Make the error for words that don't fit, with an example."""
        words = (one.choices[0] if one.choices else _EXAMPLES.get(one.name, "") for one in self.parameters)
        example = " ".join([f"{start if self.usage[0] == '/' else '!'}{' '.join(self.path)}", *filter(None, words)])
        return BadUsage(self.shown(start), example if self.parameters else "", typed)


@dataclass(frozen=True, slots=True)
class ListedShortcut:
    """A shortcut as Slack's manifest lists it. https://docs.slack.dev/reference/app-manifest#features."""

    callback_id: str
    name: str
    description: str
    type: Literal["global", "message"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A moment when something is due: *body* is queued once per *id*; None skips it.

    *writes* are made in the same step and advance the schedule. They start with an ``if`` that fails once that's done.
    """

    id: str
    body: Inbound | None
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do once per *period*, by one process."""

    name: str
    period: timedelta
    handler: Callable[..., Awaitable[None]]


class Feature:
    """One feature: its commands, buttons, forms, shortcuts and other inputs it answers.

    *after* runs once an outcome is posted, by the type of what the outcome carries, and *refused* if Slack rejects it
    for good; both may run again. *unknown* answers if the result of `Turn.once` is unknown, by whether it had a note.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.commands: list[Command] = []
        self.buttons: dict[str, Handler] = {}
        self.forms: dict[str, tuple[FormReader, Handler]] = {}
        self.shortcuts: dict[str, tuple[ListedShortcut, Handler]] = {}
        self.kinds: dict[type[Inbound], Handler] = {}
        self.reporters: dict[type[Inbound], Callable[..., Awaitable[None]]] = {}
        self.events: dict[str, tuple[tuple[str, ...], EventReader]] = {}
        self.notices: dict[str, Callable[..., Reply]] = {}
        self.home_sections: list[HomeSection] = []
        self.clocks: list[SlotsDue] = []
        self.jobs: list[Job] = []
        self.after: dict[type, Callable[..., Awaitable[None]]] = {}
        self.refused: dict[type, Callable[..., Awaitable[None]]] = {}
        self.unknown: dict[bool, Callable[..., Awaitable[Outcome]]] = {}

    def command(
        self, usage: str, sentence: str, *, default: bool = False, reading: bool = False, form: Block | None = None
    ) -> Callable[[H], H]:
        """Register ``async def …(deps, turn, *, …)`` for *usage*; *sentence* is its help.

        *form* is a button that opens a form for the same; errors offer it.
        """

        def register(handler: H) -> H:
            declared = _declared(usage, sentence, handler, is_default=default, is_reading=reading, form=form)
            add_command(self.commands, declared)
            return handler

        return register

    def button(self, *action_ids: str) -> Callable[[H], H]:
        """Register ``async def …(deps, turn, click)`` for buttons and menus."""
        return _register(self.buttons, *action_ids)

    def form(self, callback_id: str, *, reader: FormReader) -> Callable[[H], H]:
        """Register ``async def …(deps, turn, submission, read)`` for a form, with the result of *reader*.

        It also reads the values before the form closes: if it returns `FormErrors`, the form stays open and shows them.
        """

        def register(handler: H) -> H:
            _register(self.forms, callback_id)((reader, handler))
            return handler

        return register

    def shortcut(
        self, callback_id: str, name: str, description: str, kind: Literal["global", "message"]
    ) -> Callable[[H], H]:
        """Register ``async def …(deps, turn, shortcut)`` for a shortcut, which opens a form."""

        def register(handler: H) -> H:
            self.shortcuts[callback_id] = (ListedShortcut(callback_id, name, description, kind), handler)
            return handler

        return register

    def kind(self, kind: type[Inbound]) -> Callable[[H], H]:
        """Register ``async def …(deps, turn, body)`` for one kind of input."""
        return _register(self.kinds, kind)

    def reports(self, kind: type[Inbound]) -> Callable[[A], A]:
        """Register ``async def …(say, body, outcome)``, which tells Slack a recorded outcome without a message.

        Such as with ``functions.completeSuccess`` for a Workflow Builder step. It's called again until Slack accepts
        it, and after a crash, so it must be safe to repeat. It raises `SlackError`.
        """
        return _register(self.reporters, kind)

    def event(self, name: str, *scopes: str) -> Callable[[R], R]:
        """Register ``def …(event, team) -> Inbound | None``, which returns what to queue for a Slack event.

        Slack requires one of *scopes*; the manifest lists the event. https://docs.slack.dev/reference/events
        """

        def register(reader: R) -> R:
            _register(self.events, name)((scopes, reader))
            return reader

        return register

    def notice(self, name: str) -> Callable[[N], N]:
        """Register ``def …(facts) -> Reply`` for `bridge.inbound.Notice`s whose *what* is *name*."""
        return _register(self.notices, name)

    def home_section(self, section: S) -> S:
        """Register ``async def …(deps, turn) -> list[Block]``, a section of the Home tab."""
        self.home_sections.append(section)
        return section

    def slots(self, due: D) -> D:
        """Register ``async def …(deps, most) -> list[Slot]``, which returns due slots, *most* at a time."""
        self.clocks.append(due)
        return due

    def every(self, period: timedelta) -> Callable[[A], A]:
        """Register ``async def …(deps)``, done once per *period* by one process, and retried if it fails."""

        def register(handler: A) -> A:
            self.jobs.append(Job(f"{self.name}.{getattr(handler, '__name__', '')}", period, handler))
            return handler

        return register

    def once_posted(self, kind: type) -> Callable[[A], A]:
        """Register ``async def …(deps, turn, what, ts)`` for what a posted outcome carries in ``after``."""
        return _register(self.after, kind)

    def once_refused(self, kind: type) -> Callable[[A], A]:
        """Register ``async def …(deps, turn, what, error)`` for outcomes that Slack rejects for good."""
        return _register(self.refused, kind)

    def outcome_unknown(self, *, has_note: bool) -> Callable[[U], U]:
        """Register ``async def …(deps, turn)`` for turns whose request may have been sent, with a note or without."""
        return _register(self.unknown, has_note)


def add_command(commands: list[Command], command: Command) -> None:
    """Add one. Raises TypeError if it contradicts another."""
    name = command.path[0]
    if any(command.path == known.path for known in commands):
        raise TypeError(f"{command.usage}: registered twice")
    if command.path[-1] == HELP:
        raise TypeError(f"{command.usage}: help is made of the usage lines")
    if command.is_default and any(known.is_default and known.path[0] == name for known in commands):
        raise TypeError(f"{command.usage}: {name} has a default already")
    commands.append(command)


def _register(table: dict[Any, Any], *keys: Any) -> Callable[[Any], Any]:
    def register(handler: Any) -> Any:
        for key in keys:
            if key in table:
                raise TypeError(f"{key}: registered twice")
            table[key] = handler
        return handler

    return register


def _declared(
    usage: str, sentence: str, handler: Handler, *, is_default: bool, is_reading: bool, form: Block | None
) -> Command:
    """Read a usage line, and check that the function fits it."""
    if not _USAGE.fullmatch(usage):
        raise TypeError(f"{usage}: not a usage line")
    if not sentence:
        raise TypeError(f"{usage}: the command needs a sentence, which is its help")
    parameters = tuple(
        Parameter("choice", is_needed=True, choices=tuple(name.split("|")))
        if "|" in name
        else Parameter(name, bracket == "<")
        for bracket, name in _PARAMETER.findall(usage)
    )
    taken = list(inspect.signature(handler).parameters.values())
    if not inspect.iscoroutinefunction(handler) or [p.name for p in taken[:2]] != ["deps", "turn"]:
        raise TypeError(f"{usage}: needs async def …(deps, turn)")
    if any(p.kind is not inspect.Parameter.KEYWORD_ONLY for p in taken[2:]):
        raise TypeError(f"{usage}: parameters are keyword-only")
    if [(p.name, p.default is inspect.Parameter.empty) for p in taken[2:]] != [one[:2] for one in parameters]:
        raise TypeError(f"{usage}: parameters don't match the usage line; optional ones need a default")
    if any(parameter.choices for parameter in parameters[:-1]):
        raise TypeError(f"{usage}: a choice comes last")
    path = tuple(word for word in usage[1:].split(" ") if word[0] not in "<[")
    return Command(usage, handler, path, parameters, sentence, is_default, is_reading, form)
