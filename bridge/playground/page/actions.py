"""A person's actions on the page, carried out in the emulated workspace: ``POST /page/do/ACTION``."""

from __future__ import annotations

import base64
import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, SkipValidation, ValidationError, validate_call

from bridge.playground.emulator import EmulatedSlack
from bridge.playground.emulator.entities import Json, Message, View
from bridge.playground.emulator.escapes import entities
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.sample import OTHER_BOT, SLACKBOT
from bridge.playground.page.choices import MenuOptions, filled_in
from bridge.playground.page.errors import ActionFailed, explain, require_ack
from bridge.playground.page.messages import shown_option
from bridge.playground.page.names import Names
from bridge.playground.page.supervisor import Supervisor, Switch
from bridge.playground.page.typed import as_slack_writes
from bridge.playground.page.viewer import Viewer

MOST_TEXT: Final = 40_000
MOST_FILES: Final = 10
_MOST_ROWS: Final = 100  # https://docs.slack.dev/reference/block-kit/blocks/table-block
_MOST_COLUMNS: Final = 20
_FEWEST_OTHERS: Final = 2
_MONITORING: Final = "Monitoring"
_MOST_TITLE: Final = 150  # https://docs.slack.dev/reference/block-kit/blocks/header-block
_MOST_WORDS: Final = 3000  # https://docs.slack.dev/reference/block-kit/blocks/section-block
_INVALID: Final = "The page sent an invalid request. Reload it and try again."


@dataclass(frozen=True)
class Actor:
    """The person who acts, and what they act on."""

    slack: EmulatedSlack
    viewer: Viewer
    names: Names
    supervisor: Supervisor
    switches: Callable[[], list[Switch]]
    choices: MenuOptions

    @property
    def me(self) -> str:
        return self.viewer.me.id

    def own(self, channel: str, ts: str) -> Message:
        """A message, if it is the person's own. Raises ActionFailed."""
        message = self.viewer.message(channel, ts)
        if message.user != self.me:
            raise ActionFailed("You can only change your own messages.")
        return message


class AttachedFile(BaseModel):
    """A file: text in *content*, anything else in *base64*; *alt_txt* describes an image."""

    model_config = ConfigDict(strict=True, extra="forbid")

    name: str
    content: str = ""
    base64: str = ""
    alt_txt: str = ""


class Clip(BaseModel):
    """A voice clip: its words, and when Slack's transcript is ready."""

    model_config = ConfigDict(strict=True, extra="forbid")

    words: str
    transcript: Literal["ready", "later", "never"] = "ready"


Do = Callable[..., Awaitable[Json | None]]
By = Annotated[Actor, SkipValidation]
_ACTIONS: Final[dict[str, Do]] = {}
_checked: Final = validate_call(config=ConfigDict(strict=True, arbitrary_types_allowed=True))


def _action(name: str) -> Callable[[Do], Do]:
    """Register an action. Its keyword arguments are the fields of the request; others are refused."""

    def register(do: Do) -> Do:
        _ACTIONS[name] = _checked(do)
        return do

    return register


async def act(name: str, sent: Any, actor: Actor) -> Json:
    """Carry out an action. An error comes as a sentence for the reader."""
    do = _ACTIONS.get(name)
    if do is None:
        return {"ok": False, "error": f"The playground has no action {name!r}. Reload the page and try again."}
    if not isinstance(sent, dict):
        return {"ok": False, "error": _INVALID}
    try:
        done = await do(actor, **sent)
    except ValidationError:
        return {"ok": False, "error": _INVALID}
    except (ActionFailed, Refusal, LookupError, ValueError) as exc:
        return {"ok": False, "error": explain(exc)}
    return {"ok": True, **(done or {})}


@_action("say")
async def _say(
    actor: By,
    *,
    channel: str,
    text: str,
    thread_ts: str | None = None,
    broadcast: bool = False,
    files: Sequence[AttachedFile] = (),
    table: Sequence[Sequence[str]] = (),
    clip: Clip | None = None,
) -> Json:
    if actor.viewer.channel(channel).is_archived:
        raise ActionFailed("This channel is archived. Nobody can post here.")
    if not (text.strip() or files or table or clip):
        raise ActionFailed("The message is empty. Type something first.")
    if len(text) > MOST_TEXT:
        raise ActionFailed(f"A message can have up to {MOST_TEXT:,} characters. This one has {len(text):,}.")
    if thread_ts:
        actor.viewer.message(channel, thread_ts)
    posted = await actor.slack.people.say(
        actor.me,
        channel,
        as_slack_writes(text, actor.names),
        thread_ts=thread_ts,
        broadcast=broadcast,
        files=[*_files(actor, files[:MOST_FILES]), *_clip(actor, clip)],
        attachments=[actor.slack.people.table(_cells(table))] if table else [],
        wait=False,  # the bridge may be down: Slack's retries deal with that
    )
    return {"ts": posted}


def _files(actor: Actor, files: Sequence[AttachedFile]) -> list[Json]:
    attach = actor.slack.people.attach
    return [shown for file in files for shown in attach(actor.me, {file.name: _bytes(file)}, alt_txt=file.alt_txt)]


def _bytes(file: AttachedFile) -> bytes:
    try:
        return base64.b64decode(file.base64, validate=True) if file.base64 else file.content.encode()
    except ValueError:
        raise ActionFailed(f"{file.name} arrived incomplete. Attach it again.") from None


def _clip(actor: Actor, clip: Clip | None) -> list[Json]:
    if clip is None:
        return []
    if not clip.words.strip():
        raise ActionFailed("Enter what you say in the voice clip.")
    people = actor.slack.people
    shown = people.clip(actor.me, clip.words.strip(), is_transcribed=clip.transcript == "ready")
    if clip.transcript != "ready":
        is_never = clip.transcript == "never"
        actor.slack.later(actor.slack.transcribes_in, lambda: people.transcribe(shown["id"], fails=is_never))
    return [shown]


def _cells(rows: Sequence[Sequence[str]]) -> list[list[str | float]]:
    """The cells of a pasted table, padded to its widest row, with numbers parsed below the header."""
    width = max(len(row) for row in rows)
    if len(rows) > _MOST_ROWS or width > _MOST_COLUMNS:
        raise ActionFailed(f"A table can have up to {_MOST_ROWS} rows and {_MOST_COLUMNS} columns.")
    head, *body = ([*row, *[""] * (width - len(row))] for row in rows)
    return [[_cell(cell, is_text=True) for cell in head], *([_cell(cell) for cell in row] for row in body)]


def _cell(typed: str, *, is_text: bool = False) -> str | float:
    with contextlib.suppress(ValueError):
        if not is_text and math.isfinite(number := float(typed)):
            return number
    return typed or " "  # Slack rejects empty cells


@_action("forward")
async def _forward(actor: By, *, channel: str, ts: str, to: str, comment: str = "") -> Json:
    if actor.viewer.message(channel, ts).to:
        raise ActionFailed("A message only you can see can't be forwarded.")
    if actor.viewer.channel(to).is_archived:
        raise ActionFailed("That channel is archived. Choose another one.")
    comment = as_slack_writes(comment, actor.names)
    return {"ts": await actor.slack.people.forward(actor.me, channel, ts, to=to, comment=comment, wait=False)}


@_action("start_group")
async def _start_group(actor: By, *, users: Sequence[str]) -> Json:
    others = [user for user in dict.fromkeys(users) if user != actor.me]
    if len(others) < _FEWEST_OTHERS:
        raise ActionFailed("Choose at least two people. A message to one person is a direct message.")
    if any(
        other not in actor.viewer.workspace.people or actor.viewer.workspace.people[other].deleted for other in others
    ):
        raise ActionFailed("One of these people has left the workspace. Choose again.")
    return {"channel": actor.slack.people.start_group(actor.me, *others)}


@_action("app_posts")
async def _app_posts(
    actor: By,
    *,
    channel: str,
    title: str,
    text: str,
    by: Literal["webhook", "bot", "token"] = "webhook",
    form: Literal["attachment", "blocks"] = "attachment",
) -> Json:
    """Post as another app, with an empty ``text``, like many alerts; or the text alone, with the person's own token."""
    members, people = actor.viewer.channel(channel).members, actor.slack.people
    blocks, attachments = _alert(title, text, form)
    if by == "bot" and OTHER_BOT not in members:
        raise ActionFailed("The other app's bot isn't in this channel. Use the incoming webhook instead.")
    if by == "token":
        written = as_slack_writes(text, actor.names)
        return {"ts": await people.say(actor.me, channel, written, via=OTHER_BOT, wait=False)}
    webhook = _MONITORING if by == "webhook" else ""
    ts = await people.app_posts(channel, webhook=webhook, blocks=blocks, attachments=attachments, wait=False)
    return {"ts": ts}


@_action("app_edits")
async def _app_edits(actor: By, *, channel: str, ts: str, title: str, text: str) -> None:
    """Edit another app's post, as from firing to resolved."""
    message = actor.viewer.message(channel, ts)
    if message.user != OTHER_BOT:
        raise ActionFailed("Another app didn't post this.")
    blocks, attachments = _alert(title, text, "blocks" if message.blocks else "attachment")
    await actor.slack.people.edit(channel, ts, "", blocks=blocks, attachments=attachments)


def _alert(title: str, text: str, form: Literal["attachment", "blocks"]) -> tuple[list[Json], list[Json]]:
    """Return an alert's blocks, and its attachments: one of them is empty."""
    title, text = title.strip(), text.strip()
    if not (title and text):
        raise ActionFailed("An alert needs a title and text.")
    if form == "blocks":
        head = {"type": "header", "text": {"type": "plain_text", "text": title[:_MOST_TITLE]}}
        return [head, {"type": "section", "text": {"type": "mrkdwn", "text": entities(text)[:_MOST_WORDS]}}], []
    title = entities(title)
    card = {"color": "danger", "title": title, "text": entities(text), "fallback": title, "mrkdwn_in": ["text"]}
    return [], [card]


@_action("edit")
async def _edit(actor: By, *, channel: str, ts: str, text: str) -> None:
    actor.own(channel, ts)
    if not text.strip():
        raise ActionFailed("A message can't be empty. You can delete it instead.")
    await actor.slack.people.edit(channel, ts, as_slack_writes(text, actor.names))


@_action("delete")
async def _delete(actor: By, *, channel: str, ts: str) -> None:
    actor.own(channel, ts)
    await actor.slack.people.delete(channel, ts)


@_action("react")
async def _react(actor: By, *, channel: str, ts: str, name: str) -> None:
    if actor.viewer.message(channel, ts).to:
        raise ActionFailed("You can't react to a message only you can see.")
    await actor.slack.people.react(actor.me, channel, ts, name)


@_action("read")
async def _read(actor: By, *, channel: str) -> None:
    shown = actor.viewer.channel(channel)
    if actor.viewer.workspace.is_unread(actor.me, shown):  # otherwise each read would refresh every window
        actor.slack.people.read(actor.me, channel)


@_action("command")
async def _command(actor: By, *, channel: str, command: str, text: str = "", in_thread: bool = False) -> None:
    actor.viewer.channel(channel)
    if command == "/invite":  # Slack's own
        bot = actor.viewer.workspace.bot
        if text.strip() not in {f"@{bot.name}", f"<@{bot.id}>"}:
            raise ActionFailed(f"Only the bot can be invited here: type /invite @{bot.name}.")
        if not await actor.slack.people.invite(bot.id, channel, actor.me, wait=False):
            raise ActionFailed(f"@{bot.name} is already in this channel.")
        return
    if command not in {known["command"] for known in actor.supervisor.features.get("slash_commands", [])}:
        raise ActionFailed(f"{command} is not a valid command. Put a space first to send it as a message.")
    if in_thread:
        raise ActionFailed(f"{command} is not supported in threads. Sorry! Type !{command[1:]} instead.")
    await actor.slack.ui.command(actor.me, channel, command, text)


def _surface(actor: Actor, channel: str, ts: str, view_id: str) -> Message | View:
    """The message or the view with an element."""
    return actor.viewer.view(view_id) if view_id else actor.viewer.message(channel, ts)


@_action("click")
async def _click(
    actor: By, *, action_id: str, block_id: str = "", channel: str = "", ts: str = "", view_id: str = ""
) -> None:
    surface = _surface(actor, channel, ts, view_id)
    if surface.user == SLACKBOT:
        await actor.slack.people.answer_slackbot(actor.me, channel, ts, action_id, wait=False)
    else:
        require_ack(await actor.slack.ui.press(actor.me, surface, action_id, block_id=block_id))


@_action("select")
async def _select(
    actor: By, *, action_id: str, value: Any, block_id: str = "", channel: str = "", ts: str = "", view_id: str = ""
) -> None:
    surface = _surface(actor, channel, ts, view_id)
    value = actor.choices.chosen(surface.all_blocks, block_id, action_id, value)
    require_ack(await actor.slack.ui.choose(actor.me, surface, action_id, value, block_id=block_id))


@_action("suggest")
async def _suggest(
    actor: By, *, action_id: str, typed: str, block_id: str = "", channel: str = "", ts: str = "", view_id: str = ""
) -> Json:
    surface = _surface(actor, channel, ts, view_id)
    options = await actor.slack.ui.suggestions(actor.me, surface, action_id, typed, block_id=block_id)
    actor.choices.offered(action_id, options)
    return {"options": [shown_option(option) for option in options]}


@_action("submit")
async def _submit(actor: By, *, view_id: str, values: Mapping[str, Mapping[str, Any]]) -> None:
    view = actor.viewer.view(view_id)
    entered = filled_in(view.blocks, values, actor.choices)
    require_ack(await actor.slack.ui.submit(view_id, entered, actor.me))


@_action("close")
async def _close(actor: By, *, view_id: str) -> None:
    actor.viewer.view(view_id)
    await actor.slack.ui.close(view_id, actor.me)


@_action("shortcut")
async def _shortcut(actor: By, *, callback_id: str, channel: str = "", ts: str = "") -> None:
    if ts:
        actor.viewer.message(channel, ts)
        require_ack(await actor.slack.ui.message_shortcut(actor.me, channel, ts, callback_id))
    else:
        require_ack(await actor.slack.ui.shortcut(actor.me, callback_id))


@_action("stop")
async def _stop(actor: By, *, channel: str, thread_ts: str) -> None:
    actor.viewer.message(channel, thread_ts)
    await actor.slack.people.press_stop(actor.me, channel, thread_ts)


@_action("open_home")
async def _open_home(actor: By) -> None:
    await actor.slack.people.open_home(actor.me)


@_action("open_messages")
async def _open_messages(actor: By) -> None:
    await actor.slack.people.open_messages(actor.me)


@_action("fault")
async def _fault(actor: By, *, name: str, is_on: bool = True) -> None:
    for switch in actor.switches():
        if switch.name == name:
            return await switch.turn(is_on)
    raise LookupError(name)
