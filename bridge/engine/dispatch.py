"""`Features`: routes any input to its handler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from bridge.config_tables import Act
from bridge.ends.failures import sentence
from bridge.ends.notices import COMMAND_GONE, ONLY_WORDS, did_you_mean, not_queued, of_earlier_release
from bridge.engine.addressing import misspelled_first
from bridge.engine.choices import Choices, Option
from bridge.engine.command_line import MEANT, CommandLine
from bridge.engine.deps import EngineDeps
from bridge.engine.feature import (
    EventReader,
    Feature,
    ListedShortcut,
    RegisteredForm,
    RegisteredShortcut,
)
from bridge.engine.forms import Form, MenuOptions, MenuQuery
from bridge.engine.projects import ASK, CHOOSE, remember
from bridge.engine.questions import Question
from bridge.engine.results import HomeChanged, Modal, Outcome, Result, shown, try_later
from bridge.engine.turn import Turn
from bridge.errors import (
    BridgeError,
    ControlNotUnderstood,
    NotAllowed,
    ProjectNotChosen,
    ProjectRemoved,
    SlackError,
    StoreError,
)
from bridge.ids import PersonKey
from bridge.inbound import NO_COMMAND, Click, HomeOpened, InboundMessage, Notice, Shortcut, SlashCommand, Submission
from bridge.slack.blockkit import kit, modals
from bridge.slack.blockkit.modals import Origin
from bridge.slack.blockkit.reply import Audience, Block, Reply, View
from bridge.slack.in_project import mark_view
from bridge.slack.parts import Place


class Features:
    """All *features* together. Raises TypeError if two of them register the same input."""

    def __init__(self, *features: Feature) -> None:
        self.features = features
        self.commands = CommandLine(command for feature in features for command in feature.commands)
        self._buttons = _merge(feature.buttons for feature in features)
        self._forms: dict[str, RegisteredForm] = _merge(feature.forms for feature in features)
        self._menus: dict[tuple[str, str], tuple[MenuOptions, Act | None]] = _merge(
            feature.menus for feature in features
        )
        self._shortcuts: dict[str, RegisteredShortcut] = _merge(feature.shortcuts for feature in features)
        self._kinds = _merge(feature.kinds for feature in features)
        self.events: dict[str, tuple[tuple[str, ...], list[EventReader]]] = {}  # several features may read one
        for name, (scopes, reader) in (event for feature in features for event in feature.events.items()):
            self.events.setdefault(name, (scopes, []))[1].append(reader)
        self.home_sections = [section for feature in features for section in feature.home_sections]
        self.needs = [needs for feature in features for needs in feature.needs]
        self.clocks = [due for feature in features for due in feature.clocks]
        self.jobs = [job for feature in features for job in feature.jobs]
        self.finished_turn_handlers = [handler for feature in features for handler in feature.finished_turn_handlers]
        self.standing = [kind for feature in features for kind in feature.standing]
        self.due = [kind.due for kind in self.standing if kind.due]
        self._after = _merge(feature.after for feature in features)
        self._refused = _merge(feature.refused for feature in features)
        self._unknown = _merge(feature.unknown for feature in features)
        self.labels = _merge(feature.labels for feature in features)
        self.labels |= {f"click {action_id}": "button: Did you mean" for action_id in MEANT}
        self.labels |= {f"click {CHOOSE}": "menu: Choose a project"}
        self.outcomes = _merge(feature.outcomes for feature in features)

    async def handle(self, deps: EngineDeps, turn: Turn) -> Result:
        """Answer any input; ask which project it's about if a command or a button needs to know.

        Raises `BridgeError`, `TryLater`, and what `Turn.once` raises.
        """
        commands = self.commands if deps.projects.is_several else self.commands.with_one_project
        try:
            match turn.body:
                case SlashCommand(command=command, text=text):
                    result = await commands.answer(f"{command} {text}", deps, turn)
                case Click() as click:
                    result = await self._press(deps, turn, click)
                case Submission() as submission:
                    known = self._forms.get(submission.form)
                    read = known and known.form.read(submission.values)
                    if known is None or isinstance(read, modals.FormErrors | modals.NextForm):
                        raise ControlNotUnderstood(submission.form)  # of another version, which closed on submission
                    await _check_place(deps, submission)
                    result = await known.handler(deps, turn, submission, read)
                case Notice() as notice:
                    words = Reply.model_validate(notice.reply) if notice.reply else of_earlier_release(notice.what)
                    if notice.channel == notice.user:  # the direct message with the bot
                        words = words.model_copy(update={"audience": Audience.CHANNEL})
                    result = shown(words, what=notice.what.partition(":")[0])
                case Shortcut() as shortcut:
                    result = await self._use(deps, turn, shortcut)
                case InboundMessage() as message if (line := self._line_of(message, deps)) is not None:
                    slip = await self._slip(message, line, deps, turn)
                    result = slip or await commands.answer(line, deps, turn)
                    if message.parts and slip is None:
                        notice = Notice.about(message, "not_used", ONLY_WORDS.stored(), of="notice", is_offer=True)
                        turn.stage(deps.inbox.queues(notice, why="its command takes words only"))
                case body:
                    result = await self._kinds[type(body)](deps, turn, body)
            if isinstance(result, Modal) and turn.project_key == ASK:  # its menus depend on the project
                raise ProjectNotChosen  # noqa: TRY301 - as if a handler had raised it
        except ProjectNotChosen as exc:
            await Choices(deps.scripts).ask(turn, self._asked_by(deps, turn))
            options = [kit.option(project.name, f"{project.id}:{turn.id}") for project in deps.projects]
            exc.form, exc.buttons = None, (kit.select(CHOOSE, "Choose a project", options),)
            raise
        return result

    def _asked_by(self, deps: EngineDeps, turn: Turn) -> Option:
        """Return the command line that *turn* carries out, or else the press of its button."""
        match turn.body:
            case SlashCommand(command=command, text=text):
                return Option(line=f"{command} {text}")
            case InboundMessage() as message:
                return Option(line=self._line_of(message, deps) or "")
            case body:
                return Option(control=getattr(body, "action_id", ""), value=getattr(body, "value", ""))

    def _line_of(self, message: InboundMessage, deps: EngineDeps) -> str | None:
        """Return a message's command line as the door decided it, or now if it didn't (`InboundMessage`)."""
        return None if message.line == NO_COMMAND else message.line or self.commands.line_of(message, deps.bot_user)

    async def _picked(self, deps: EngineDeps, turn: Turn, click: Click) -> Result:
        """Do, once, what a person picked: the command they meant, or what they did before they chose a project."""
        question = Question(deps, turn, click)
        if answered := await question.answered():
            return answered
        is_project, value = click.action_id == CHOOSE, click.value
        if is_project:
            value = f"0:{value.partition(':')[2]}"
        elif ":" not in value:
            raise ControlNotUnderstood(click.action_id)
        option = await Choices(deps.scripts).picked(turn, value)
        if option is None:
            return shown(COMMAND_GONE, "gone")
        if is_project and deps.projects.has_keys:
            with try_later():
                turn.change_project(await deps.projects.key_for(deps.policy, turn.project_key, turn.user))
        if is_project and turn.channel.startswith("D"):
            await remember(deps.scripts, PersonKey(turn.team, turn.user), turn.project.key)
        if option.line:
            act = partial(self.commands.answer, option.line, deps, turn, item=option.item)
        else:
            pressed = click.model_copy(update={"action_id": option.control, "value": option.value})
            act = partial(self._press, deps, turn, pressed)
        return await question.settled(act, option.label or turn.project.name)

    async def _slip(self, message: InboundMessage, line: str, deps: EngineDeps, turn: Turn) -> Outcome | None:
        """Ask what was meant if a command's *line*, or the name of a project before it, seems to be misspelled."""
        if message.meant:
            named = misspelled_first(message.text, deps.projects, bot_user=deps.bot_user)
            if named is None or named.project.id != message.meant:
                raise ProjectRemoved(message.meant)
            word = f"@{message.meant}"
            changed = {"text": named.rest, "project": named.project.key, "names_project": True, "meant": "", "line": ""}
        elif command := self.commands.meant_by(line):
            word = f"!{command}"
            changed = {"text": word, "line": ""}
        else:
            return None
        meant = Option(label=word, message=message.model_copy(update=changed))
        project = "" if message.project == ASK else message.project  # as for a text that's no command
        text = message.model_copy(update={"source": "word", "meant": "", "line": "", "project": project})
        return shown(
            did_you_mean(word, *await Choices(deps.scripts).ask(turn, meant, Option(message=text))), what="slip"
        )

    async def _press(self, deps: EngineDeps, turn: Turn, click: Click) -> Result:
        """Answer a click on a button, or a choice in a menu."""
        if click.action_id in {CHOOSE, *MEANT}:
            return await self._picked(deps, turn, click)
        if click.action_id not in self._buttons:
            raise ControlNotUnderstood(click.action_id)
        result: Result = await self._buttons[click.action_id](deps, turn, click)
        if not isinstance(result, HomeChanged):
            return result
        home = HomeOpened(team=turn.team, channel=turn.channel, user=turn.user, view_hash=click.view_hash)
        return await self._kinds[HomeOpened](deps, turn, home)  # type: ignore[no-any-return]

    async def after(self, deps: EngineDeps, turn: Turn, outcome: Outcome, ts: str) -> None:
        """Run the handlers for a posted *outcome*, perhaps twice; its ``ts`` is ``""`` if it was private.

        The writes they stage are made with DONE.
        """
        turn.staged.clear()
        for after in outcome.after:
            if type(after) in self._after:  # else only a refused post matters
                await self._after[type(after)](deps, turn, after, ts)

    async def refused(self, deps: EngineDeps, turn: Turn, outcome: Outcome, error: str) -> None:
        """Run the handlers for an *outcome* that Slack rejects for good, with *error*; perhaps twice.

        The writes they stage are made in the step that gives the turn up.
        """
        turn.staged.clear()
        for after in outcome.after:
            if type(after) in self._refused:
                await self._refused[type(after)](deps, turn, after, error)

    async def unknown(self, deps: EngineDeps, turn: Turn) -> Outcome:
        """Return the outcome that says that the result of *turn*'s request is unknown."""
        return await self._unknown[bool(turn.record.note)](deps, turn)  # type: ignore[no-any-return]

    def stays_open(self, submission: Submission) -> modals.FormErrors | View | None:
        """Return what a sent form shows instead of closing, if anything: its errors, or the next form."""
        known = self._forms.get(submission.form)
        match known and known.form.read(submission.values):
            case modals.FormErrors() as errors:
                return errors
            case modals.NextForm(view):
                return mark_view(view(Origin.parse(submission.private_metadata)), submission.project)
        return None

    def place_of(self, form: str, values: Mapping[str, Any], origin: Origin) -> Place:
        """Return where a form's result is shown."""
        known = self._forms.get(form)
        return (known.form if known else Form).place(values, origin)

    async def options(self, form: str, action_id: str, query: MenuQuery) -> list[Block]:
        """Return the options of a menu, none if it's unknown. Raises `ProjectError` and `StoreUnavailable`."""
        name, colon, _ = action_id.partition(":")
        keys = ((form, action_id), (form, f"{name}{colon}"), ("", action_id))
        known = next((self._menus[key] for key in keys if key in self._menus), None)
        if known is None:
            return []
        options, act = known
        return await options(query._replace(catalog=query.offered(act)) if act else query)

    def shortcuts(self) -> list[ListedShortcut]:
        """List the shortcuts for the manifest."""
        return [known.listed for known in self._shortcuts.values()]

    def not_stored(self, shortcut: str) -> Reply:
        """Return the answer to a shortcut that couldn't be stored."""
        known = self._shortcuts.get(shortcut)
        return (known and known.not_stored) or not_queued()

    async def _use(self, deps: EngineDeps, turn: Turn, shortcut: Shortcut) -> Result:
        """Open a shortcut's form. A global shortcut has no channel for a message, so errors are shown in a modal."""
        known = self._shortcuts.get(shortcut.name)
        try:
            if shortcut.refusal:
                raise NotAllowed(shortcut.refusal)
            if known is None:
                raise ControlNotUnderstood(shortcut.name)
            return await known.handler(deps, turn, shortcut)
        except StoreError:
            raise
        except BridgeError as exc:
            if known and known.not_stored:
                raise
            why = sentence(exc)
            return Modal(modals.page("Sorry", [kit.section(why)], Origin()), otherwise=kit.reply(why))


async def _check_place(deps: EngineDeps, submission: Submission) -> None:
    """Raise `NotAllowed` if a form's result would be shown in a channel, chosen in it, that its person doesn't see."""
    place = submission.channel
    if place in {"", Origin.parse(submission.private_metadata).channel} or place.startswith("D"):
        return
    try:
        sees = await deps.directory.sees(submission.user, place)
    except SlackError as exc:
        raise NotAllowed("unanswered") from exc
    if not sees:
        raise NotAllowed("left")


def _merge(tables: Iterable[dict[Any, Any]]) -> dict[Any, Any]:
    merged: dict[Any, Any] = {}
    for table in tables:
        if twice := merged.keys() & table.keys():
            raise TypeError(f"{twice}: registered by two features")
        merged |= table
    return merged
