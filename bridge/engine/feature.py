"""`Feature`: the inputs that a feature answers, declared at its handlers.

::

    workflows = Feature("workflows")

    @workflows.command("/workflows run [workflow] [input]")
    async def run_workflow(deps, turn, *, workflow=None, input=""):
        '''Run a workflow. Leave out the input to get a form.'''

    @workflows.button(run_card.AGAIN, label="button: Run again")
    async def run_again(deps, turn, click): ...

Every handler is a coroutine that may run again (`bridge.queue.journal`) and returns a `Result`. A usage line declares a
command, and its docstring's first line describes it: parsing, help, suggestions for typos, the ``!`` form, the manifest
and audit names follow. ``<x>`` is required, ``[x]`` optional; the last takes the rest of the line, the others one word
each. ``<workflow>``, ``<agent>`` and ``<project>`` are looked up by ID or name. ``<all|mentions>`` accepts one of these
words, passed as *choice*. A line that begins with ``!`` exists only in that form.

Wrong registrations raise TypeError at import.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeVar

from bridge.config_tables import Act
from bridge.engine.forms import Form, Menu, MenuOptions
from bridge.engine.home import Need
from bridge.engine.results import Modal, Outcome, Result
from bridge.engine.standing import Standing
from bridge.errors import BadUsage
from bridge.inbound import Inbound
from bridge.queue.finished_turns import FinishedTurn
from bridge.queue.writes import Write
from bridge.slack.blockkit.reply import Block, Reply

Handler = Callable[..., Awaitable[Result]]
Opens = Callable[..., Awaitable[Modal]]
H = TypeVar("H", bound=Handler)
A = TypeVar("A", bound=Callable[..., Awaitable[None]])
U = TypeVar("U", bound=Callable[..., Awaitable[Outcome]])
OnFinishedTurns = Callable[[Any, Sequence[FinishedTurn]], Awaitable[Sequence[Write]]]
V = TypeVar("V", bound=OnFinishedTurns)
M = TypeVar("M", bound=MenuOptions)
EventReader = Callable[[Mapping[str, Any], str], Inbound | None]
R = TypeVar("R", bound=EventReader)
HomeSection = Callable[..., Awaitable[list[Block]]]
S = TypeVar("S", bound=HomeSection)
NeedsOf = Callable[..., Awaitable[list[Need]]]
W = TypeVar("W", bound=NeedsOf)
SlotsDue = Callable[..., Awaitable[Sequence["Slot"]]]
D = TypeVar("D", bound=SlotsDue)

_USAGE: Final = re.compile(r"[/!][a-z][a-z-]*(?: [a-z][a-z-]*)*(?: <[a-z_|]+>)*(?: \[[a-z_]+\])*")
_PARAMETER: Final = re.compile(r"([<\[])([a-z_|]+)[>\]]")
HELP: Final = "help"
_EXAMPLES: Final = {
    "workflow": "3",
    "agent": "Support",
    "app": "Monitoring",
    "when": "7d",
    "session": "12",
    "emoji": ":headphones:",
    "handle": "@support",
}


class Parameter(NamedTuple):
    """A ``<x>`` or ``[x]`` of a usage line; ``<x|y>`` accepts one of these words and is passed as *choice*."""

    name: str
    is_required: bool
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A usage line and its handler."""

    usage: str
    handler: Handler
    path: tuple[str, ...]  # its fixed words, without / or !
    parameters: tuple[Parameter, ...]
    sentence: str
    is_default: bool  # answers if only the command's name was typed
    is_read_only: bool  # may be shared with the channel
    form: Block | None  # a button that opens a form for this command
    needs: Act | None = None  # what people must be allowed to do to see that button
    is_offered: bool = False  # that button is shown with the help, too
    for_several: bool = False  # exists only where there are several projects
    of_project: bool = False  # what follows its name is a project's
    opens: Opens | None = None  # opens that form with what was typed of the parameters
    options: tuple[str, ...] = ()  # of a read-only command: its handler's parameters that are False by default

    @property
    def is_for_threads(self) -> bool:
        """Whether it exists only with ``!``."""
        return self.usage.startswith("!")

    def shown(self, start: str) -> str:
        """Return the usage line as people type it: *start* is ``/``, with the slash commands' prefix, or ``!``."""
        return self.usage if self.is_for_threads else f"{start}{self.usage[1:]}"

    def usage_error(self, start: str, typed: str = "") -> BadUsage:
        """Return the error for words that don't fit, with an example."""
        words = (
            parameter.choices[0] if parameter.choices else _EXAMPLES.get(parameter.name, "")
            for parameter in self.parameters
        )
        example = " ".join([f"{start if self.usage[0] == '/' else '!'}{' '.join(self.path)}", *filter(None, words)])
        return BadUsage(self.shown(start), example if self.parameters else "", typed)


@dataclass(frozen=True, slots=True)
class ListedShortcut:
    """A shortcut as Slack's manifest lists it. https://docs.slack.dev/reference/app-manifest#features."""

    callback_id: str
    name: str
    description: str
    type: Literal["global", "message"]


class RegisteredShortcut(NamedTuple):
    """A shortcut as it's *listed*, and what handles it; for *not_stored*, see `Feature.shortcut`."""

    listed: ListedShortcut
    not_stored: Reply | None
    handler: Handler


@dataclass(frozen=True, slots=True)
class Slot:
    """A moment when *body* is due: it's queued once per *id*, and None skips the slot.

    *writes* are made in the same step and advance the schedule. They start with an ``if`` that fails once it advanced.
    """

    id: str
    body: Inbound | None
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Periodic:
    """Periodic work: *handler* runs once per *period*, in one process, or in each."""

    name: str
    period: timedelta
    handler: Callable[..., Awaitable[None]]
    is_everywhere: bool = False


class RegisteredForm(NamedTuple):
    """A form, and what handles it."""

    form: type[Form]
    handler: Handler


class Feature:
    """A feature: its commands, buttons, forms, shortcuts and the other inputs it answers.

    Handlers in *after* run once an outcome is posted, those in *refused* if Slack rejects it for good; both are chosen
    by the types in `Outcome.after` and may run again. *unknown* answers if the result of `Turn.once` is unknown, by
    whether it had a note. *labels* and *outcomes* are the audit's words for people, by the stored name.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.commands: list[Command] = []
        self.buttons: dict[str, Handler] = {}
        self.forms: dict[str, RegisteredForm] = {}
        self.menus: dict[tuple[str, str], tuple[MenuOptions, Act | None]] = {}
        self.shortcuts: dict[str, RegisteredShortcut] = {}
        self.kinds: dict[type[Inbound], Handler] = {}
        self.events: dict[str, tuple[tuple[str, ...], EventReader]] = {}
        self.home_sections: list[HomeSection] = []
        self.needs: list[NeedsOf] = []
        self.clocks: list[SlotsDue] = []
        self.jobs: list[Periodic] = []
        self.finished_turn_handlers: list[OnFinishedTurns] = []
        self.standing: list[Standing] = []
        self.after: dict[type, Callable[..., Awaitable[None]]] = {}
        self.refused: dict[type, Callable[..., Awaitable[None]]] = {}
        self.unknown: dict[bool, Callable[..., Awaitable[Outcome]]] = {}
        self.labels: dict[str, str] = {}
        self.outcomes: dict[str, str] = {}

    def command(
        self,
        usage: str,
        *,
        default: bool = False,
        read_only: bool = False,
        form: Block | None = None,
        needs: Act | None = None,
        offered: bool = False,
        of_project: bool = False,
        for_several: bool = False,
        opens: Opens | None = None,
    ) -> Callable[[H], H]:
        """Register ``async def …(deps, turn, *, …)`` for *usage*; its docstring's first line is its help.

        *form* is a button that opens a form for the same command; errors offer it, except to people who may not do what
        it *needs*; *offered* shows it with the help, too. *opens*, ``async def …(deps, turn, each parameter or None)``,
        opens it: if one is missing, so that the handler always gets all, and filled in with a workflow or an agent and
        the text after its name if it's unsure which was meant. *read_only* allows ``--share``; a parameter that's False
        by default is another option, or *share* itself.
        With *of_project*, the name of a project may follow, also without ``@``. One *for_several* projects exists
        only where there are.
        """

        def register(handler: H) -> H:
            command = _parse(usage, handler, is_default=default, is_read_only=read_only, form=form, opens=opens)
            command = replace(command, needs=needs, is_offered=offered, of_project=of_project, for_several=for_several)
            add_command(self.commands, command)
            return handler

        return register

    def button(self, action_id: str, *, label: str) -> Callable[[H], H]:
        """Register ``async def …(deps, turn, click)`` for a button or menu; *label* names it in the audit."""
        self.labels[f"click {action_id}"] = label
        return _register(self.buttons, action_id)

    def form(self, *forms: type[Form]) -> Callable[[H], H]:
        """Register ``async def …(deps, turn, submission, read)`` for forms, with what they read, and their menus.

        They also read the values before they close: if that's `FormErrors`, the form stays open and shows them, and a
        `NextForm` takes its place; then the handler isn't called.
        """

        def register(handler: H) -> H:
            for form in forms:
                self.labels[f"form {form.id}"] = form.label or f"form: {form.title}"
                _register(self.forms, form.id, make=partial(RegisteredForm, form))(handler)
                for menu in form.fields.values():
                    if isinstance(menu, Menu):
                        self.options(menu.name, form=form.id, act=menu.act)(menu.options)
            return handler

        return register

    def options(self, *action_ids: str, form: str = "", act: Act | None = None) -> Callable[[M], M]:
        """Register ``async def …(menu: MenuQuery) -> list[Block]``, the options of menus that Slack asks for.

        With an *act*, the catalog has only what the person may do that with.
        https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element#external_select
        """
        return _register(self.menus, *((form, action_id) for action_id in action_ids), make=lambda made: (made, act))

    def shortcut(
        self,
        callback_id: str,
        name: str,
        description: str,
        kind: Literal["global", "message"],
        *,
        label: str,
        not_stored: Reply | None = None,
    ) -> Callable[[H], H]:
        """Register ``async def …(deps, turn, shortcut)`` for a shortcut, which opens a form.

        One with *not_stored* answers with a private message instead, and with this one if it couldn't be stored.
        *label* names it in the audit.
        """
        self.labels[f"shortcut {callback_id}"] = label
        listed = ListedShortcut(callback_id, name, description, kind)
        return _register(self.shortcuts, callback_id, make=partial(RegisteredShortcut, listed, not_stored))

    def kind(self, kind: type[Inbound], *, label: str = "") -> Callable[[H], H]:
        """Register ``async def …(deps, turn, body)`` for one kind of input; *label*, if any, names it in the audit."""
        self.labels |= {kind.model_fields["kind"].default: label} if label else {}
        return _register(self.kinds, kind)

    def event(self, name: str, *scopes: str) -> Callable[[R], R]:
        """Register ``def …(event, team) -> Inbound | None``, which returns what to queue for a Slack event.

        Slack requires one of *scopes*; the manifest lists the event. Only the handler knows the bot (`deps.bot_user`).
        https://docs.slack.dev/reference/events
        """
        return _register(self.events, name, make=lambda reader: (scopes, reader))

    def home_section(self, section: S) -> S:
        """Register ``async def …(deps, turn, reads) -> list[Block]``, a section of the Home tab.

        It reads Redis through *reads* only, at most twice (`bridge.engine.home.Reads`).
        """
        self.home_sections.append(section)
        return section

    def needs_you(self, needs: W) -> W:
        """Register ``async def …(deps, turn, reads) -> list[Need]``: what waits for the person, at the top of Home.

        It reads Redis like a `home_section`. Whoever changes what it returns stages `deps.homes.redraws` for them.
        """
        self.needs.append(needs)
        return needs

    def slots(self, due: D) -> D:
        """Register ``async def …(deps, most) -> list[Slot]``, which returns due slots, *most* at a time."""
        self.clocks.append(due)
        return due

    def on_finished_turns(self, handler: V) -> V:
        """Register ``async def …(deps, turns) -> list[Write]``, for finished turns (`bridge.engine.finished_turns`).

        Its writes are made exactly once for each turn; whatever else it does may be repeated.
        """
        self.finished_turn_handlers.append(handler)
        return handler

    def every(self, period: timedelta, *, everywhere: bool = False) -> Callable[[A], A]:
        """Register ``async def …(deps)``, which one process runs once per *period*; it's retried if it fails.

        With *everywhere*, each process runs it, about that often.
        """

        def register(handler: A) -> A:
            self.jobs.append(Periodic(f"{self.name}.{getattr(handler, '__name__', '')}", period, handler, everywhere))
            return handler

        return register

    def once_posted(self, kind: type) -> Callable[[A], A]:
        """Register ``async def …(deps, turn, what, ts)`` for posted outcomes with a *kind* in ``after``."""
        return _register(self.after, kind)

    def once_refused(self, kind: type) -> Callable[[A], A]:
        """Register ``async def …(deps, turn, what, error)`` for those that Slack rejects for good.

        The writes it stages are made in the step that gives the turn up.
        """
        return _register(self.refused, kind)

    def sets_up(self, *kinds: Standing) -> None:
        """Register kinds of things that people set up with this feature."""
        self.standing += kinds

    def outcome_unknown(self, *, has_note: bool) -> Callable[[U], U]:
        """Register ``async def …(deps, turn)`` for turns whose request may have been sent, with a note or without."""
        return _register(self.unknown, has_note)


def add_command(commands: list[Command], command: Command) -> None:
    """Add *command*. Raises TypeError if it conflicts with another."""
    name = command.path[0]
    if any(command.path == known.path for known in commands):
        raise TypeError(f"{command.usage}: registered twice")
    if command.path[-1] == HELP:
        raise TypeError(f"{command.usage}: help is generated from the usage lines")
    if command.is_default and any(known.is_default and known.path[0] == name for known in commands):
        raise TypeError(f"{command.usage}: {name} already has a default")
    commands.append(command)


def _register(
    table: dict[Any, Any], *keys: Any, make: Callable[[Any], Any] = lambda handler: handler
) -> Callable[[Any], Any]:
    """Return a decorator that registers what's *made* of a handler."""

    def register(handler: Any) -> Any:
        for key in keys:
            if key in table:
                raise TypeError(f"{key}: registered twice")
            table[key] = make(handler)
        return handler

    return register


def _parse(
    usage: str, handler: Handler, *, is_default: bool, is_read_only: bool, form: Block | None, opens: Opens | None
) -> Command:
    """Parse a usage line, and check that the handler's signature matches it."""
    if not _USAGE.fullmatch(usage):
        raise TypeError(f"{usage}: not a usage line")
    sentence = (inspect.getdoc(handler) or "").partition("\n")[0]
    if not sentence:
        raise TypeError(f"{usage}: the handler needs a docstring; its first line is the command's help")
    parameters = tuple(
        Parameter("choice", is_required=True, choices=tuple(name.split("|")))
        if "|" in name
        else Parameter(name, bracket == "<")
        for bracket, name in _PARAMETER.findall(usage)
    )
    accepted = list(inspect.signature(handler).parameters.values())
    if not inspect.iscoroutinefunction(handler) or [p.name for p in accepted[:2]] != ["deps", "turn"]:
        raise TypeError(f"{usage}: needs async def …(deps, turn)")
    if any(p.kind is not inspect.Parameter.KEYWORD_ONLY for p in accepted[2:]):
        raise TypeError(f"{usage}: parameters are keyword-only")
    options = tuple(p.name for p in accepted[2:] if p.default is False)
    named = [(p.name, p.default is inspect.Parameter.empty) for p in accepted[2:] if p.name not in options]
    if named != [(parameter.name, parameter.is_required or opens is not None) for parameter in parameters]:
        raise TypeError(f"{usage}: parameters don't match the usage line; optional ones need a default, or a form")
    if any(parameter.choices for parameter in parameters[:-1]):
        raise TypeError(f"{usage}: a choice comes last")
    path = tuple(word for word in usage[1:].split(" ") if word[0] not in "<[")
    return Command(
        usage, handler, path, parameters, sentence, is_default, is_read_only, form, opens=opens, options=options
    )
