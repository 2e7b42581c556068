"""`Features`: routes any input to its handler, and a typed line to its command."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, Final, NamedTuple, TypeVar

from bridge.engine.feature import HELP, Command, EventReader, Feature, ListedShortcut, add_command
from bridge.engine.notices import Slip, command_gone, did_you_mean, help_card, help_lines
from bridge.engine.picking import edit_distance, most_typos, pick
from bridge.engine.questions import Question
from bridge.engine.reply_poster import recipient_of
from bridge.engine.results import Form, HomeChanged, Outcome, Result, shown
from bridge.errors import (
    BadUsage,
    BridgeError,
    CommandError,
    ControlNotUnderstood,
    NoSuch,
    NotAllowed,
    NotSure,
    ProjectError,
    SeveralFit,
    SlackError,
    StoreError,
    UnknownCommand,
    UnknownOption,
)
from bridge.features.buttons import FOR_RUNNERS, MEANT
from bridge.features.deps import Deps
from bridge.features.lookups import is_runner
from bridge.inbound import Click, HomeOpened, InboundMessage, Notice, Shortcut, SlashCommand, Submission
from bridge.project.models import Agent, Workflow
from bridge.queue.audit import named
from bridge.queue.turn import Turn
from bridge.slack.blockkit import kit, modals
from bridge.slack.blockkit.failures import either, failure, sentence
from bridge.slack.blockkit.folding import fold, name_key, split, undecorated
from bridge.slack.blockkit.modals import Carried, Origin
from bridge.slack.blockkit.mrkdwn import addressed, mentions_in, plain_command_text
from bridge.slack.blockkit.reply import Audience, Reply

log = logging.getLogger(__name__)

E = TypeVar("E", BadUsage, UnknownCommand)

_HELP_SHARE: Final = "Add --share to show the answer to the whole channel."
# Of folded text:
_SHARE: Final = re.compile(r"(?:^|(?<=\s))--share(?=\s|$)")
_OPTION: Final = re.compile(r"(?:^|(?<=\s))--([a-z][\w-]*)\S*")
_BANG: Final = re.compile(r"\s*[*_~`]*!([a-z](?:[\w-]*[a-z0-9])?)[*_~`]*(?=\s|$)")
_SLASH: Final = re.compile(r"\s*[*_~`]*/([a-z](?:[\w-]*[a-z0-9])?)[*_~`]*(?=\s|$)")
_LONGEST_BANG: Final = 100  # characters before and in a command's name
_MOST_TYPED: Final = 1000  # characters of a line that may be the command's own words
_WORD: Final = re.compile(r"[a-z][\w-]*")
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
            case Form() if not result.about:
                return Form(result.view, result.otherwise, self.about)
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


class Meant(Carried):
    """The value of a button that carries out a command: the *id* that was meant, and where the text after it begins.

    The *turn* stored what was typed.
    """

    usage: str = ""
    id: int = 0
    turn: str = ""
    at: int = 0


class Features:
    """All *features* together. Raises TypeError if two of them register the same input."""

    def __init__(self, *features: Feature) -> None:
        self.features = features
        self._commands: list[Command] = []
        for command in (command for feature in features for command in feature.commands):
            add_command(self._commands, command)
        self.fixed_words: dict[str, frozenset[str]] = {HELP: frozenset()}  # words that the audit may name
        for command in self._commands:
            fixed = {*command.path[1:2], *([HELP] if command.usage.startswith("/") else [])}
            self.fixed_words[command.path[0]] = self.fixed_words.get(command.path[0], frozenset()) | fixed
        self._longest_first = sorted(self._commands, key=lambda command: -len(command.path))
        self._buttons = _merge(feature.buttons for feature in features)
        self._forms = _merge(feature.forms for feature in features)
        self._shortcuts = _merge(feature.shortcuts for feature in features)
        self._kinds = _merge(feature.kinds for feature in features)
        self.reporters = _merge(feature.reporters for feature in features)
        self.events: dict[str, tuple[tuple[str, ...], list[EventReader]]] = {}  # several features may read one
        for name, (scopes, reader) in (event for feature in features for event in feature.events.items()):
            self.events.setdefault(name, (scopes, []))[1].append(reader)
        self._notices = _merge(feature.notices for feature in features)
        self.home_sections = [section for feature in features for section in feature.home_sections]
        self.clocks = [due for feature in features for due in feature.clocks]
        self.jobs = [job for feature in features for job in feature.jobs]
        self._after = _merge(feature.after for feature in features)
        self._refused = _merge(feature.refused for feature in features)
        self._unknown = _merge(feature.unknown for feature in features)

    async def handle(self, deps: Deps, turn: Turn) -> Result:
        """Answer any input. Raises `BridgeError`, `TryLater`, and what `Turn.once` raises."""
        match turn.body:
            case SlashCommand(command=command, text=text):
                line = f"{command} {text}"
            case Click() as click:
                return await self._press(deps, turn, click)
            case Submission(form=form) as submission:
                if form not in self._forms:
                    raise ControlNotUnderstood(form)
                if self.problems_of(submission):  # a form of another version, which closed on submission
                    raise ControlNotUnderstood(form)
                reader, sent = self._forms[form]
                return await sent(deps, turn, submission, reader(submission.values))  # type: ignore[no-any-return]
            case Notice(what=what) as notice:
                words = self.words_of(what)
                if notice.channel == notice.user:  # the direct message with the bot
                    words = words.model_copy(update={"audience": Audience.CHANNEL})
                return shown(words, what=what.partition(":")[0])
            case Shortcut() as shortcut:
                return await self._use(deps, turn, shortcut)
            case InboundMessage() as message if (said := self.command_line(message, deps.bot_user)) is not None:
                line = said
                if meant := self.meant_by(line):
                    slip = Slip(
                        word=addressed(message.text, deps.bot_user)[1].strip()[1:],
                        command=meant,
                        m=message.ts,
                        t=message.thread_ts,
                        a=message.is_mention,
                    )
                    return shown(did_you_mean(meant, slip.model_dump_json()), what="slip")
            case body:
                return await self._kinds[type(body)](deps, turn, body)  # type: ignore[no-any-return]
        try:
            return await self._carry_out(await self._read(line, deps, turn), deps, turn)
        except CommandError as exc:
            if exc.form and exc.form["action_id"] in FOR_RUNNERS and not await is_runner(deps, turn.user):
                exc.form = None
                if isinstance(exc, NotSure):
                    exc.buttons = ()
            raise

    async def _press(self, deps: Deps, turn: Turn, click: Click) -> Result:
        """Answer a click on a button, or a choice in a menu."""
        if click.action_id in MEANT:
            return await self._meant(deps, turn, click)
        if click.action_id not in self._buttons:
            raise ControlNotUnderstood(click.action_id)
        result: Result = await self._buttons[click.action_id](deps, turn, click)
        if not isinstance(result, HomeChanged):
            return result
        home = HomeOpened(team=turn.team, channel=turn.channel, user=turn.user, view_hash=click.view_hash)
        return await self._kinds[HomeOpened](deps, turn, home)  # type: ignore[no-any-return]

    async def _carry_out(self, typed: Typed | Result, deps: Deps, turn: Turn) -> Result:
        if not isinstance(typed, Typed):
            return typed
        try:
            result = await typed.command.handler(deps, turn, **typed.values)
        except BridgeError as exc:
            typed.annotate(exc)
            raise
        return typed.completed(result)

    async def after(self, deps: Deps, turn: Turn, outcome: Outcome, ts: str) -> None:
        """Run the handlers for a posted *outcome*, perhaps twice; its ``ts`` is ``""`` if it was private.

        The writes they stage are made with DONE.
        """
        turn.staged.clear()
        for what in outcome.after:
            await self._after[type(what)](deps, turn, what, ts)

    async def refused(self, deps: Deps, turn: Turn, outcome: Outcome, error: str) -> None:
        """Run the handlers for an *outcome* that Slack rejects for good, with *error*; perhaps twice.

        The writes they stage are made in the step that gives the turn up.
        """
        turn.staged.clear()
        for what in outcome.after:
            if type(what) in self._refused:
                await self._refused[type(what)](deps, turn, what, error)

    async def unknown(self, deps: Deps, turn: Turn) -> Outcome:
        """Return the outcome that says that the result of *turn*'s request is unknown."""
        return await self._unknown[bool(turn.record.note)](deps, turn)  # type: ignore[no-any-return]

    def words_of(self, notice: str) -> Reply:
        """Return the reply for a `Notice.what`, which may come from a later version with more names."""
        name, _, facts = notice.partition(":")
        words = self._notices.get(name)
        return words(*([facts] if facts else [])) if words else failure(NotAllowed(notice))

    def problems_of(self, submission: Submission) -> Mapping[str, str]:
        """Return the errors of a form, by the ID of the block that shows them; empty if it's valid."""
        known = self._forms.get(submission.form)
        read = known[0](submission.values) if known else None
        return read.by_block if isinstance(read, modals.FormErrors) else {}

    def shortcuts(self) -> list[ListedShortcut]:
        """List the shortcuts for the manifest."""
        return [listed for listed, _handler in self._shortcuts.values()]

    async def _use(self, deps: Deps, turn: Turn, shortcut: Shortcut) -> Result:
        """Open a shortcut's form. A global shortcut has no channel for a message, so errors are shown in a modal."""
        try:
            if shortcut.refusal:
                raise NotAllowed(shortcut.refusal)
            if shortcut.name not in self._shortcuts:
                raise ControlNotUnderstood(shortcut.name)
            return await self._shortcuts[shortcut.name][1](deps, turn, shortcut)  # type: ignore[no-any-return]
        except StoreError:
            raise
        except BridgeError as exc:
            why = sentence(exc)
            return Form(modals.page("Sorry", [kit.section(why)], Origin()), otherwise=kit.reply(why))

    async def _meant(self, deps: Deps, turn: Turn, click: Click) -> Result:
        """Carry out the command that a person confirmed, once. If it fails, the question can be answered again."""
        meant, question = Meant.parse(click.value), Question(deps, turn, click)
        command = next((one for one in self._commands if one.usage == meant.usage), None)
        if command is None:
            raise ControlNotUnderstood(click.action_id)
        if answered := await question.answered():
            return answered
        typed = await deps.recent.typed(turn.team, turn.user, meant.turn)
        if typed is None:
            return shown(command_gone(), "gone")
        found = await self._values(command, typed[meant.at :], deps, _start(deps, turn), meant=meant.id)
        await deps.inbox.write(*question.uses())
        if answered := await question.answered():  # by another press at the same moment
            return answered
        try:
            result = await self._carry_out(found, deps, turn)
        except BridgeError as exc:
            if not isinstance(exc, StoreError):
                await deps.inbox.write(*question.undo())
            raise
        if isinstance(result, Form):
            await deps.inbox.write(*question.undo())
        elif click.response_url:
            chosen = kit.note(f"You chose {found.about.split(maxsplit=2)[-1]}.", replaces_original=True)
            try:
                await deps.say.whisper(recipient_of(click), chosen)
            except SlackError as exc:
                log.info("can't replace a question that was answered", extra={"detail": exc.detail})
        return result

    async def _ask(self, error: NotSure, typed: str, command: Command, deps: Deps, turn: Turn) -> Form:
        """Return the command's form, filled in with what may be meant; without one, raise *error* with buttons.

        What was *typed* is stored for them.
        """
        error.form, name = command.form, error.kind
        following = [one.name for one in command.parameters][1:]
        error.of_rest = following[0] if following else ""
        await deps.recent.store_typed(turn.team, turn.user, turn.id, typed)
        for action_id, (id_, called, rest) in zip(MEANT, error.options, strict=False):
            value = Meant(usage=command.usage, id=id_, turn=turn.id, at=len(typed) - len(rest)).model_dump_json()
            error.buttons = (*error.buttons, kit.button(kit.one_line(called, kit.BUTTON_TEXT), action_id, value))
        id_, _name, rest = error.options[0]
        if not (command.fill and turn.trigger_id and len(error.options) == 1 and len(rest) <= kit.PLAIN_TEXT_INPUT):
            raise error
        form = await command.fill(deps, turn, next(one for one in await _all(name, deps) if one.id == id_), rest)
        doubt = kit.context(f"I'm not sure which {name} you meant. Check this before you continue.")
        view = {**form.view, "blocks": [doubt, *form.view["blocks"]]}
        return Form(view, failure(error), error.about)

    async def _read(self, line: str, deps: Deps, turn: Turn) -> Typed | Result:
        """Parse a line such as ``/workflows show 3``, or return its help. Raises `CommandError`."""
        start = _start(deps, turn)
        names: dict[str, str] = {}
        if "<" in line:  # mentions become names; unknown IDs stay
            found = await deps.directory.names(mentions_in(line))
            names = {id_: name for id_, name in found.items() if name != id_}
        typed = plain_command_text(line, names).strip()
        folded, unshared, at = fold(typed, _MOST_TYPED), "", 0
        for share in _SHARE.finditer(folded.text):
            unshared, at = unshared + folded.between(at, share.start()), share.end()
        unshared = " ".join(f"{unshared} {folded.after(at)}".split()) if at else ""
        match = self._match(unshared) if unshared else None
        is_shared = match is not None and match[0].is_read_only
        if not is_shared:
            said = _words(typed)
            if said == [HELP]:
                return self._overview(start, may_run=await is_runner(deps, turn.user))
            if HELP in said and (reply := self._help(said, start)):
                return reply
            match = self._match(typed)
        if match is None and (item := await self._item(unshared or typed, deps)):
            match, is_shared = item, bool(unshared)
        if unknown := self._unknown_option(unshared if is_shared else typed, match, start):
            raise unknown
        if match is None:
            raise self._not_understood(typed, start)
        try:
            parsed = await self._values(*match, deps, start)
        except NotSure as exc:
            return await self._ask(exc, match[1], match[0], deps, turn)
        except CommandError as exc:
            exc.form = match[0].form
            if isinstance(exc, NoSuch):
                exc.lists = next((f"{start}{one.path[0]}" for one in self._named(f"{exc.kind}s") if one.is_default), "")
            raise
        return parsed._replace(is_shared=is_shared)

    async def _values(self, command: Command, rest: str, deps: Deps, start: str, *, meant: int | None = None) -> Typed:
        """Return the parameters' values, and the line's subject for the audit. Raises `CommandError`.

        *meant* is the ID of the workflow or agent that comes first, if *rest* doesn't name it.
        """
        values: dict[str, Any] = {}
        about = guessed = ""  # never the text
        for place, parameter in enumerate(command.parameters):
            name, is_last = parameter.name, place == len(command.parameters) - 1
            if not rest and not (meant is not None and place == 0):
                if parameter.is_required:
                    raise command.usage_error(start)
                break
            if name in {"workflow", "agent"}:
                known = await _all(name, deps)
                if meant is not None and place == 0:
                    one = next((one for one in known if one.id == meant), None)
                    if one is None:
                        raise NoSuch(name, str(meant))
                else:
                    picked = pick(name, rest, known, takes_rest=not is_last, acts=not command.is_read_only)
                    guessed = "" if picked.is_whole else rest
                    one, rest = picked.one, picked.rest
                values[name], about = one, about or named(name, one.id, one.name)
            elif parameter.choices and name_key(rest) not in parameter.choices:
                raise command.usage_error(start, rest)
            elif is_last:
                values[name], rest = name_key(rest) if parameter.choices else rest, ""
            else:
                (_, values[name]), *_others = split(rest, _MOST_TYPED)
                rest = _after_words(rest, 1)
        return Typed(command, values, about, guessed)

    def _unknown_option(self, typed: str, match: tuple[Command, str] | None, start: str) -> UnknownOption | None:
        """Return the error for an unknown option: in a read-only command, or in a line that's a command without it.

        Input for workflows and agents may contain anything, and reports have their own options.
        """
        folded = fold(typed, _MOST_TYPED)
        option = _OPTION.search(folded.text)
        if option is None:
            return None
        found = match or self._match(_OPTION.sub("", folded.text)) or self._match(folded.text[: option.start()])
        if found is None or (match and not match[0].is_read_only):
            return None
        command = found[0]
        near = difflib.get_close_matches(option[1], ["share"], n=1) if command.is_read_only else []
        return UnknownOption(
            f"--{folded.between(*option.span(1))}", command.shown(start).split(" ")[0], "--share" if near else ""
        )

    def command_line(self, message: InboundMessage, bot_user: str) -> str | None:
        """Return a message's command line (``!stats`` → ``/stats``), misspelled or not; None if it isn't a command."""
        if message.is_text:
            return None
        mentions, said = addressed(message.text, bot_user)
        line = self.bang_line(said)
        if line is None and (mentions or message.is_direct):
            line = self._slash_line(said)
        if line is None and message.is_mention and not message.parts and len(message.text) <= _LONGEST_BANG:
            # A mention alone, or with one of two words
            alone = re.sub(rf"<@{re.escape(bot_user)}(?:\|[^<>]*)?>", " ", message.text)
            word = name_key(alone).strip("!?.,:;-*_~` ")
            line = f"/{word or HELP}" if word in {"", HELP, "stop"} else None
        return line

    def _slash_line(self, text: str) -> str | None:
        """Return a slash command typed in a message, where Slack doesn't take it for one, without a prefix."""
        folded = fold(undecorated(text), _LONGEST_BANG)
        found = _SLASH.match(folded.text)
        known = [one for one in self._names() if found and f"-{found[1]}".endswith(f"-{one}")]
        return f"/{known[0]} {folded.after(found.end())}".rstrip() if found and known else None

    def bang_line(self, text: str) -> str | None:
        """Turn ``!stats`` into ``/stats``; None if no known command follows the exclamation mark.

        The command is folded, the rest is as typed. A single misspelled word counts, too; see `meant_by`.
        """
        if not _BANG.match(fold(text, _LONGEST_BANG).text):  # most messages
            return None
        folded = fold(undecorated(text), _LONGEST_BANG)
        found = _BANG.match(folded.text)
        if found is None:
            return None
        rest = folded.after(found.end())
        line = f"/{found[1]} {rest}" if fold(rest, _LONGEST_BANG).text.strip() else f"/{found[1]}"
        return line if found[1] in self._names() or self.meant_by(line) else None

    def meant_by(self, line: str) -> str:
        """Return the command that a *line* of one word misspells; ``""`` if it's a command, or similar to none."""
        word, names = line[1:], self._names()
        if word in names or not _WORD.fullmatch(word):
            return ""
        near = [name for name in names if edit_distance(word, name) <= most_typos(name)]
        return min(near, key=lambda name: edit_distance(word, name), default="")

    def _names(self) -> list[str]:
        return list(dict.fromkeys([HELP, *(command.path[0] for command in self._commands)]))

    def usages(self) -> list[str]:
        """List the usage lines."""
        return [command.usage for command in self._commands]

    def slash_commands(self, prefix: str = "") -> list[ListedCommand]:
        """List the slash commands for the manifest."""
        names = dict.fromkeys(command.path[0] for command in self._commands if command.usage.startswith("/"))
        listed = []
        for name in names:
            known = self._named(name)
            about = next((command for command in known if command.is_default), known[0])
            hints = [hint for command in known if (hint := command.usage.partition(" ")[2])]
            with_ids = all(parameter.name != _UNTOUCHED for command in known for parameter in command.parameters)
            listed.append(ListedCommand(f"/{prefix}{name}", about.sentence, " | ".join([*hints, HELP]), with_ids))
        return listed

    def _first_help(self, start: str) -> list[tuple[str, str]]:
        ordered = sorted(self._commands, key=lambda command: command.is_for_threads)
        return _explained([one for one in ordered if one.is_for_threads or start != "!"], start)

    def _named(self, name: str) -> list[Command]:
        return [command for command in self._commands if command.path[0] == name]

    def _match(self, typed: str) -> tuple[Command, str] | None:
        """Return the command that a line starts with, and the text after the command's words."""
        said = tuple(_words(typed))
        for command in self._longest_first:
            count = len(command.path)
            if said[:count] == command.path:
                rest = _after_words(typed, count)
                if command.parameters or not rest:
                    return command, rest
        if len(said) == 1:
            return next(((command, "") for command in self._named(said[0]) if command.is_default), None)
        return None

    async def _item(self, typed: str, deps: Deps) -> tuple[Command, str] | None:
        """Return the command that shows the workflow or agent named right after ``/workflows`` or ``/agents``."""
        said, rest = _words(typed), _after_words(typed, 1)
        show = next((one for one in self._named(said[0] if said else "") if one.path[1:] == ("show",)), None)
        if show is None or not rest:
            return None
        kind = show.parameters[0].name
        try:
            pick(kind, rest, await _all(kind, deps), takes_rest=False)
        except SeveralFit:
            return show, rest  # which says so
        except NoSuch as exc:
            wrong = self._not_understood(typed, "/")
            is_name = exc.nearest and isinstance(wrong, UnknownCommand) and not wrong.nearest
            return (show, rest) if is_name else None
        except ProjectError:
            return None
        return show, rest

    def _overview(self, start: str, *, may_run: bool) -> Reply:
        """Return an overview of everything that can be typed, with buttons for those who *may_run* workflows."""
        own = [one for one in self._commands if one.is_for_threads]
        own = [one for one in own if not any(f"{one.usage}." in other.sentence for other in own)]  # !mute names !unmute
        others = []
        for name in dict.fromkeys(one.path[0] for one in self._commands if not one.is_for_threads):
            known = self._named(name)
            words = list(dict.fromkeys(one.path[1] for one in known if one.path[1:]))
            others.append((_first_word(known[0], start), either(words) if words else known[0].sentence))
        return help_card(_explained(own, start), others, may_run=may_run)

    def _help(self, said: list[str], start: str) -> Reply | None:
        """Return help for one word's commands."""
        known = self._named(said[0]) if said[1:2] == [HELP] else []
        note = _HELP_SHARE if any(command.is_read_only for command in known) else ""
        return help_lines(_first_word(known[0], start), _explained(known, start), note) if known else None

    def _not_understood(self, line: str, start: str) -> UnknownCommand | BadUsage:
        """Return the error for a line that matches no command: with similar commands or, if there are none, help."""
        said, as_typed = _words(line), [original for _folded, original in split(line, _MOST_TYPED)]
        known = self._named(said[0]) if said else []
        if not known:
            names = list(dict.fromkeys(f"{start}{command.path[0]}" for command in self._commands))
            typed = f"{start}{''.join(as_typed[:1]).lstrip('/!')}"
            near = difflib.get_close_matches(typed, names, n=2)
            return UnknownCommand(typed, near, () if near else self._first_help(start))
        depth = max(_common_prefix(command.path, said) for command in known)
        fitting = [command for command in known if _common_prefix(command.path, said) == depth]
        exact = [command for command in fitting if len(command.path) == depth]
        if exact and len(fitting) == 1:  # too many words
            return _with_form(exact[0].usage_error(start, " ".join(as_typed[depth:])), exact[0])
        words = [_first_word(fitting[0], start), *said[1:depth]]
        following = {command.path[depth]: command for command in fitting if len(command.path) > depth}
        near = difflib.get_close_matches(said[depth], following, n=2) if len(said) > depth else []
        typed = " ".join([*words, *as_typed[depth : depth + 1]])
        if near:
            return _with_form(UnknownCommand(typed, [" ".join([*words, word]) for word in near]), following[near[0]])
        return UnknownCommand(typed, help=_explained(fitting, start))


async def _all(kind: str, deps: Deps) -> Sequence[Workflow | Agent]:
    return await (deps.catalog.get_workflows() if kind == "workflow" else deps.catalog.get_agents())


def _start(deps: Deps, turn: Turn) -> str:
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


def _common_prefix(path: Sequence[str], said: Sequence[str]) -> int:
    """Return how many words at the start are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, said, strict=False)))


def _merge(tables: Iterable[dict[Any, Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for table in tables:
        if twice := found.keys() & table.keys():
            raise TypeError(f"{twice}: registered by two features")
        found |= table
    return found


def _words(typed: str) -> list[str]:
    return fold(typed, _MOST_TYPED).text.lstrip("/!").split()


def _after_words(typed: str, count: int) -> str:
    """Return what follows the first *count* words, as typed."""
    folded = fold(typed, _MOST_TYPED)
    at = 0
    for word in islice(re.finditer(r"\S+", folded.text), count):
        at = word.end()
    return folded.after(at)
