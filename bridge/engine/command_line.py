"""`CommandLine`: reads what people type as a command, and carries it out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, Final, NamedTuple, TypeVar

from bridge.ends.failures import failure
from bridge.ends.notices import help_card, help_lines
from bridge.ends.typed import MOST_OPTIONS
from bridge.engine.choices import Choices, Option
from bridge.engine.deps import EngineDeps
from bridge.engine.feature import HELP, Command, add_command
from bridge.engine.results import Modal, Outcome, Result, shown
from bridge.engine.turn import Turn
from bridge.errors import (
    BadUsage,
    BridgeError,
    CommandError,
    NoSuch,
    NotSure,
    ProjectError,
    SeveralFit,
    UnknownCommand,
    UnknownOption,
)
from bridge.inbound import InboundMessage
from bridge.names.folding import fold, may_have, name_key, split, undecorated
from bridge.names.matching import Called, pick
from bridge.names.nearness import likeness, nearest
from bridge.policy.rules import ANY_WORKFLOW
from bridge.queue.finished_turns import named
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.lists import names_apart
from bridge.slack.blockkit.mrkdwn import (
    LONGEST_BANG,
    PLEASE,
    addressed,
    bang,
    mention_of,
    mentions_in,
    plain_command_text,
)
from bridge.slack.blockkit.reply import Audience, Reply

MEANT: Final = tuple(f"command:meant:{number}" for number in range(MOST_OPTIONS))
"""The buttons carry out a command with the workflow or agent that was meant; action IDs differ within a block."""

E = TypeVar("E", BadUsage, UnknownCommand)

STOP: Final = "/stop"
"""The command line of ``!stop``."""

_HELP_SHARE: Final = "Add --share to {commands} to show the answer to the whole channel."
# Of folded text:
_SWITCH: Final = re.compile(r"(?:^|(?<=\s))--([a-z][\w-]*)(?=\s|$)")
_OPTION: Final = re.compile(r"(?:^|(?<=\s))--([a-z][\w-]*)\S*")
_SLASH: Final = re.compile(r"\s*[*_~`]*/([a-z](?:[\w-]*[a-z0-9])?)[*_~`]*(?=\s|$)")
_MOST_TYPED: Final = 1000  # characters of a line that may be the command's own words
_WORD: Final = re.compile(r"[a-z][\w-]*")
_ALIKE: Final = 0.5
_UNTOUCHED: Final = "input"  # passed to a workflow as typed


class ListedCommand(NamedTuple):
    """A slash command as Slack's manifest lists it; one *with_ids* gets channels, people and links as IDs.

    Without them, ``#general`` arrives as typed. Commands with ``[input]`` get their text as typed; all others may name
    channels and people. https://docs.slack.dev/interactivity/implementing-slash-commands
    """

    name: str
    description: str
    usage_hint: str
    with_ids: bool = True


class Typed(NamedTuple):
    """A parsed line: its *command* with the parameters' *values*.

    *about* is its subject, for the audit; *guessed* is the text that was taken for a workflow's or agent's name.
    *is_shared* shows the answer to the whole channel.
    """

    command: Command
    values: Mapping[str, Any]
    about: str
    guessed: str = ""
    is_shared: bool = False

    def annotate(self, error: BridgeError) -> None:
        """Add the line's facts to the handler's *error*."""
        error.about = error.about or self.about
        if isinstance(error, CommandError):
            error.form = error.form or self.command.form

    def completed(self, result: Result) -> Result:
        """Add the line's facts to the handler's *result*."""
        match result:
            case Modal() if not result.about:
                return Modal(result.view, result.otherwise, self.about)
            case Reply():
                outcome = shown(result, about=self.about)
            case Outcome():
                outcome = result if result.concerns else result.model_copy(update={"concerns": self.about})
            case _:
                return result
        if self.guessed:
            note = kit.context(f"The closest match for {kit.quoted(self.guessed, 60)}.")
            guess = outcome.reply.model_copy(update={"blocks": (*outcome.reply.blocks, note)})
            outcome = outcome.model_copy(update={"reply": guess})
        if not self.is_shared:
            return outcome
        public = outcome.reply.model_copy(update={"audience": Audience.CHANNEL})
        return outcome.model_copy(update={"reply": public})


class CommandLine:
    """All *commands*. Raises TypeError if two of them conflict."""

    def __init__(self, commands: Iterable[Command]) -> None:
        self.commands: list[Command] = []
        for command in commands:
            add_command(self.commands, command)
        self.fixed_words: dict[str, frozenset[str]] = {HELP: frozenset()}  # words that the audit may name
        for command in self.commands:
            fixed = {*command.path[1:2], *([HELP] if command.usage.startswith("/") else [])}
            self.fixed_words[command.path[0]] = self.fixed_words.get(command.path[0], frozenset()) | fixed
        usual = [command for command in self.commands if not command.for_several]
        self.with_one_project = CommandLine(usual) if len(usual) < len(self.commands) else self
        self.of_projects = {command.path[0] for command in self.commands if command.of_project}
        self._longest_first = sorted(self.commands, key=lambda command: -len(command.path))
        forms = [(command.form, command.needs) for command in self.commands]
        self._needs = {form["action_id"]: needs for form, needs in forms if form and needs}

    async def answer(self, line: str, deps: EngineDeps, turn: Turn, *, item: int | None = None) -> Result:
        """Carry out a *line* such as ``/workflows show 3``; if it leaves out the workflow or agent, that's *item*.

        Raises `BridgeError`, and what `Turn.once` raises.
        """
        try:
            first = split(line, _MOST_TYPED)[1:2] if deps.projects.is_several else []
            if first and first[0][0].startswith("@"):  # the door has removed the name of one that exists
                raise _no_such_project(first[0][1][1:], turn, _start(deps, turn))
            typed = await self._read(line, deps, turn, item)
            if not isinstance(typed, Typed):
                return typed
            command = typed.command
            if command.is_for_threads and (other := turn.check_thread()):
                return other
            given = [typed.values.get(parameter.name) for parameter in command.parameters]
            try:
                if command.opens and not all(given):
                    result: Result = await command.opens(deps, turn, *given)
                else:
                    result = await command.handler(deps, turn, **typed.values)
            except BridgeError as exc:
                typed.annotate(exc)
                raise
            return typed.completed(result)
        except CommandError as exc:
            needs = self._needs.get(exc.form["action_id"]) if exc.form is not None else None
            if needs and not await deps.policy.may(turn.asked(needs, ANY_WORKFLOW if needs == "run" else None)):
                exc.form = None
                if isinstance(exc, NotSure):
                    exc.buttons = ()
            raise

    async def _ask(self, error: NotSure, typed: str, command: Command, deps: EngineDeps, turn: Turn) -> Modal:
        """Return the command's form, filled in with what may be meant; without one, raise *error* with buttons.

        What was *typed* is stored for them.
        """
        error.form, name = command.form, error.kind
        following = [parameter.name for parameter in command.parameters][1:]
        error.of_rest = following[0] if following else ""
        options, names = [], names_apart([Called(id_, called) for id_, called, _rest in error.options], kit.BUTTON_TEXT)
        for id_, _called, rest in error.options:
            line = " ".join([*command.path, kit.escape(typed[len(typed) - len(rest) :])])
            options.append(Option(label=names[id_], line=f"/{line}", item=id_))
        values = await Choices(deps.scripts).ask(turn, *options)
        error.buttons = tuple(
            kit.button(option.label, action_id, value)
            for action_id, option, value in zip(MEANT, options, values, strict=False)
        )
        id_, _name, rest = error.options[0]
        fits = len(error.options) == 1 and len(rest) <= kit.PLAIN_TEXT_INPUT
        if not (command.opens and following and turn.trigger_id and fits):
            raise error
        form = await command.opens(deps, turn, await turn.project.catalog.item(name, id_), rest)
        doubt = kit.context(f"I'm not sure which {name} you meant. Check this before you continue.")
        view = {**form.view, "blocks": [doubt, *form.view["blocks"]]}
        return Modal(view, failure(error), error.about)

    async def _read(self, line: str, deps: EngineDeps, turn: Turn, item: int | None) -> Typed | Result:
        """Parse a line such as ``/workflows show 3``, or return its help. Raises `CommandError`."""
        start = _start(deps, turn)
        names = await deps.directory.names(mentions_in(line)) if "<" in line else {}
        typed = plain_command_text(line, names).strip()
        unshared, options = _without(typed, ("share",))
        match = self._match(unshared) if options else None
        is_shared = match is not None and match[0].is_read_only
        typed = unshared if match is None else typed  # what isn't a command is the same without it
        if not is_shared:
            words = _words(typed)
            if words[:1] == [HELP]:
                words = [words[1], HELP] if words[1:] and self._named(words[1]) else [HELP]
            if words == [HELP]:
                is_direct = getattr(turn.body, "channel", "").startswith("D")
                return self._overview(
                    start, may_run=await deps.policy.may(turn.asked("run", ANY_WORKFLOW)), is_direct=is_direct
                )
            if words[1:2] == [HELP] and (known := self._named(words[0])):
                readers = [f"{start}{' '.join(command.path)}" for command in known if command.is_read_only]
                note = _HELP_SHARE.format(commands=kit.joined(readers, "or")) if readers else ""
                return help_lines(_first_word(known[0], start), _explained(known, start), note)
            match = self._match(typed)
        if match is None and (named_item := await self._item(unshared, turn)):
            match, is_shared = named_item, bool(options)
        if unknown := self._unknown_option(unshared if is_shared else typed, match, start):
            raise unknown
        if match is None:
            raise self._unknown_command(typed, start)
        try:
            return await self._values(*match, turn, start, item=item, is_shared=is_shared)
        except NotSure as exc:
            return await self._ask(exc, match[1], match[0], deps, turn)
        except CommandError as exc:
            exc.form = match[0].form
            if isinstance(exc, NoSuch):
                lists = (f"{start}{other.path[0]}" for other in self._named(f"{exc.kind}s") if other.is_default)
                exc.lists = next(lists, "")
            raise

    async def _values(
        self,
        command: Command,
        rest: str,
        turn: Turn,
        start: str,
        *,
        item: int | None = None,
        is_shared: bool = False,
    ) -> Typed:
        """Return the parameters' values, and the line's subject for the audit. Raises `CommandError`.

        *item* is the ID of the workflow or agent that comes first, if *rest* doesn't name it.
        """
        rest, options = _without(rest, command.options)
        values: dict[str, Any] = {name: name in options for name in command.options}
        values |= {"share": is_shared} if "share" in values else {}
        about = guessed = ""  # never the text
        for index, parameter in enumerate(command.parameters):
            name, is_last = parameter.name, index == len(command.parameters) - 1
            if not rest and not (item is not None and index == 0):
                if parameter.is_required:
                    raise command.usage_error(start)
                break
            if name in {"workflow", "agent"}:
                if item is not None and index == 0:
                    thing = await turn.project.catalog.item(name, item)
                    if thing is None:
                        raise NoSuch(name, str(item))
                else:
                    known = await turn.project.catalog.candidates(name, rest)
                    picked = pick(name, rest, known, takes_rest=not is_last, acts=not command.is_read_only)
                    guessed = "" if picked.is_whole else rest
                    thing, rest = picked.item, picked.rest
                values[name], about = thing, about or named(name, thing.id, thing.name)
            elif name == "project":
                project = turn.projects.find(rest)
                if project is None:
                    raise _no_such_project(rest, turn, start)
                values[name], about, rest = project, about or named(name, project.id, project.name), ""
            elif parameter.choices and name_key(rest) not in parameter.choices:
                raise command.usage_error(start, rest)
            elif is_last:
                values[name], rest = name_key(rest) if parameter.choices else rest, ""
            else:
                (_, values[name]), *_others = split(rest, _MOST_TYPED)
                rest = _after_words(rest, 1)
        return Typed(command, values, about, guessed, is_shared)

    def _unknown_option(self, typed: str, match: tuple[Command, str] | None, start: str) -> UnknownOption | None:
        """Return the error for an unknown option: in a read-only command, or in a line that's a command without it.

        Input for workflows and agents may contain anything, and reports have their own options.
        """
        folded = fold(typed, _MOST_TYPED)
        allowed = match[0].options if match else ()
        option = next((word for word in _OPTION.finditer(folded.text) if word[1] not in allowed), None)
        if option is None:
            return None
        meant = match or self._match(_OPTION.sub("", folded.text)) or self._match(folded.text[: option.start()])
        if meant is None or (match and not match[0].is_read_only):
            return None
        command = meant[0]
        near = nearest(option[1], ["share"]) if command.is_read_only else []
        word = folded.between(option.start(1), option.end()) if near else option[1]  # --share=yes is like --share
        return UnknownOption(f"--{word}", _first_word(command, start), "--share" if near else "")

    def line_of(self, message: InboundMessage, bot_user: str) -> str | None:
        """Return a message's command line (``!stats`` → ``/stats``), misspelled or not; None if it isn't a command.

        A message that seems to misspell a project's name isn't for an agent either: it's that name, as ``@orders``.
        """
        if message.is_text:
            return None
        mentions, rest = addressed(message.text, bot_user)
        alone = mention_of(bot_user).sub(" ", message.text)
        line = None
        if may_have(rest, "!"):
            typed = rest if mentions else re.sub(rf"[ \t]?{mention_of(bot_user).pattern}", "", rest)  # !stats @bridge
            line = STOP if bang(alone) == ("stop", "") else self.bang_line(typed)
        if line is None and (mentions or message.is_direct):
            # Slack doesn't take a slash command in a message for one; the line is without the app's prefix
            folded = fold(undecorated(rest), LONGEST_BANG)
            slash = _SLASH.match(folded.text)
            known = [name for name in self._names() if slash and f"-{slash[1]}".endswith(f"-{name}")]
            line = f"/{known[0]} {folded.after(slash.end())}".rstrip() if slash and known else None
        if line is None and message.is_mention and not message.parts and len(message.text) <= LONGEST_BANG:
            # A mention alone, or with one of two words
            word = name_key(alone).strip("!?.,:;-*_~` ")
            is_stop = [part for part in re.findall(r"\w+", word) if part not in PLEASE] == ["stop"]
            line = STOP if is_stop else f"/{word or HELP}" if word in {"", HELP} else None
        return line or (f"@{message.meant}" if message.meant else None)

    def bang_line(self, text: str) -> str | None:
        """Turn ``!stats`` into ``/stats``; None if no known command follows the exclamation mark.

        The command is folded, the rest is as typed. A single misspelled word counts, too; see `meant_by`.
        """
        word, rest = bang(text) or ("", "")
        line = f"/{word} {rest}" if rest else f"/{word}"
        return line if word in self._names() or self.meant_by(line) else None

    def meant_by(self, line: str) -> str:
        """Return the command that a *line* of one word misspells; ``""`` if it's a command, or similar to none."""
        word, names = line[1:], self._names()
        if word in names or not _WORD.fullmatch(word):
            return ""
        nearest = max(names, key=lambda name: likeness(word, name))
        return nearest if likeness(word, nearest) else ""

    def _names(self) -> list[str]:
        return list(dict.fromkeys([HELP, *(command.path[0] for command in self.commands)]))

    def usages(self) -> list[str]:
        """List the usage lines that exist with one project."""
        return [command.usage for command in self.commands if not command.for_several]

    def slash_commands(self, prefix: str = "") -> list[ListedCommand]:
        """List the slash commands for the manifest."""
        names = dict.fromkeys(command.path[0] for command in self.commands if command.usage.startswith("/"))
        listed = []
        for name in names:
            known = [command for command in self._named(name) if not command.for_several]
            about = next((command for command in known if command.is_default), known[0])
            hints = [hint for command in known if (hint := command.usage.partition(" ")[2])]
            with_ids = all(parameter.name != _UNTOUCHED for command in known for parameter in command.parameters)
            listed.append(ListedCommand(f"/{prefix}{name}", about.sentence, " | ".join([*hints, HELP]), with_ids))
        return listed

    def _named(self, name: str) -> list[Command]:
        return [command for command in self.commands if command.path[0] == name]

    def _match(self, typed: str) -> tuple[Command, str] | None:
        """Return the command that a line starts with, and the text after the command's words."""
        words = tuple(_words(typed))
        for command in self._longest_first:
            count = len(command.path)
            if words[:count] == command.path:
                rest = _after_words(typed, count)
                if command.parameters or not rest:
                    return command, rest
        if len(words) == 1:
            return next(((command, "") for command in self._named(words[0]) if command.is_default), None)
        return None

    async def _item(self, typed: str, turn: Turn) -> tuple[Command, str] | None:
        """Return the command that shows the workflow or agent named right after ``/workflows`` or ``/agents``."""
        words, rest = _words(typed), _after_words(typed, 1)
        named = self._named(words[0] if words else "")
        show = next((command for command in named if command.path[1:] == ("show",)), None)
        if show is None or not rest:
            return None
        kind = show.parameters[0].name
        try:
            pick(kind, rest, await turn.project.catalog.candidates(kind, rest), takes_rest=False)
        except SeveralFit:
            return show, rest  # which says so
        except NoSuch as exc:
            wrong = self._unknown_command(typed, "/")
            is_name = exc.nearest and isinstance(wrong, UnknownCommand) and not wrong.nearest
            return (show, rest) if is_name else None
        except ProjectError:
            return None
        return show, rest

    def _overview(self, start: str, *, may_run: bool, is_direct: bool = False) -> Reply:
        """Return an overview of everything that can be typed, with buttons for those who *may_run* workflows."""
        own = [command for command in self.commands if command.is_for_threads]
        sentences = [command.sentence for command in own]  # !mute names !unmute
        own = [command for command in own if not any(f"{command.usage}." in sentence for sentence in sentences)]
        others = []
        for name in dict.fromkeys(command.path[0] for command in self.commands if not command.is_for_threads):
            known = self._named(name)
            words = list(dict.fromkeys(command.path[1] for command in known[1:] if command.path[1:]))
            also = f" Also: {', '.join(words)}." if words else ""
            others.append((_first_word(known[0], start), f"{known[0].sentence}{also}"))
        offered = [
            command
            for command in self.commands
            if command.form and command.is_offered and (may_run or not command.needs)
        ]
        offered.sort(key=lambda command: bool(command.needs))
        buttons = kit.actions(*(command.form for command in offered if command.form)) if offered else None
        return help_card(_explained(own, start), others, buttons, is_direct=is_direct)

    def _unknown_command(self, line: str, start: str) -> UnknownCommand | BadUsage:
        """Return the error for a line that matches no command: with similar commands or, if there are none, help."""
        words, as_typed = _words(line), [original for _folded, original in split(line, _MOST_TYPED)]
        known = self._named(words[0]) if words else []
        if not known:
            names = list(dict.fromkeys(f"{start}{command.path[0]}" for command in self.commands))
            typed = f"{start}{''.join(as_typed[:1]).lstrip('/!')}"
            near = nearest(typed, names, most=2)
            ordered = sorted(self.commands, key=lambda command: command.is_for_threads)
            first = _explained([command for command in ordered if command.is_for_threads or start != "!"], start)
            return UnknownCommand(typed, near, () if near else first)
        depth = max(_common_prefix(command.path, words) for command in known)
        fitting = [command for command in known if _common_prefix(command.path, words) == depth]
        exact = [command for command in fitting if len(command.path) == depth]
        if exact and len(fitting) == 1:  # too many words
            return _with_form(exact[0].usage_error(start, " ".join(as_typed[depth:])), exact[0])
        path = [_first_word(fitting[0], start), *words[1:depth]]
        following = {command.path[depth]: command for command in fitting if len(command.path) > depth}
        near = nearest(words[depth], following, most=2) if len(words) > depth else []
        typed = " ".join([*path, *as_typed[depth : depth + 1]])
        if near:
            return _with_form(UnknownCommand(typed, [" ".join([*path, word]) for word in near]), following[near[0]])
        return UnknownCommand(typed, help=_explained(fitting, start))


def _no_such_project(name: str, turn: Turn, start: str) -> NoSuch:
    names = [project.name for project in turn.projects]
    near = nearest(name_key(name), [name_key(other) for other in names], least=_ALIKE)
    return NoSuch("project", name, [other for other in names if name_key(other) in near], lists=f"{start}project")


def _start(deps: EngineDeps, turn: Turn) -> str:
    """Return what commands start with where the person is: Slack has no slash commands in threads."""
    is_in_a_thread = isinstance(turn.body, InboundMessage) and not turn.body.is_root
    return "!" if is_in_a_thread else f"/{deps.command_prefix}"


def _with_form(error: E, command: Command) -> E:
    error.form = command.form
    return error


def _explained(commands: Iterable[Command], start: str) -> list[tuple[str, str]]:
    return [(command.shown(start), command.sentence) for command in commands]


def _first_word(command: Command, start: str) -> str:
    return command.shown(start).split(" ")[0]


def _common_prefix(path: Sequence[str], words: Sequence[str]) -> int:
    """Return how many words at the start are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, words, strict=False)))


def _words(typed: str) -> list[str]:
    """Return the folded words, without what ends a sentence after them."""
    return [word.rstrip(".!?") or word for word in fold(typed, _MOST_TYPED).text.lstrip("/!").split()]


def _without(typed: str, names: Collection[str]) -> tuple[str, set[str]]:
    """Return what was *typed* without the options of these *names*, and which of them were given."""
    folded, left, at, options = fold(typed, _MOST_TYPED), "", 0, set[str]()
    for option in (match for match in _SWITCH.finditer(folded.text) if match[1] in names):
        left, at = left + folded.between(at, option.start()), option.end()
        options.add(option[1])
    return " ".join(f"{left} {folded.after(at)}".split()) if options else typed, options


def _after_words(typed: str, count: int) -> str:
    """Return what follows the first *count* words, as typed."""
    folded = fold(typed, _MOST_TYPED)
    at = 0
    for word in islice(re.finditer(r"\S+", folded.text), count):
        at = word.end()
    return folded.after(at)
