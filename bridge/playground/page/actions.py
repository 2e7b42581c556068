"""A person's actions on the page, carried out in the emulated workspace: ``POST /page/do/ACTION``."""

from __future__ import annotations

import base64
import contextlib
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from bridge.playground.emulator import EmulatedSlack
from bridge.playground.emulator.entities import Json, Message
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.sample import OTHER_BOT, SLACKBOT
from bridge.playground.page.bodies import (
    ActionBody,
    AlertBody,
    AttachedFile,
    ChannelBody,
    ClickBody,
    ClickInViewBody,
    Clip,
    CommandBody,
    EditBody,
    EmptyBody,
    ForwardBody,
    GroupBody,
    MessageBody,
    ReactBody,
    SayBody,
    SelectBody,
    SelectInViewBody,
    ShortcutBody,
    SuggestBody,
    SwitchBody,
    ThreadBody,
    ViewBody,
)
from bridge.playground.page.choices import Choices, LeftEmpty, filled_in
from bridge.playground.page.errors import ActionFailed, explain, require_ack
from bridge.playground.page.messages import shown_option
from bridge.playground.page.names import Names
from bridge.playground.page.supervisor import Supervisor, Switchboard
from bridge.playground.page.typed import as_slack_writes, escaped
from bridge.playground.page.viewer import Viewer

MOST_TEXT: Final = 40_000
MOST_FILES: Final = 10
_MOST_ROWS: Final = 100  # https://docs.slack.dev/reference/block-kit/blocks/table-block
_MOST_COLUMNS: Final = 20
_FEWEST_OTHERS: Final = 2
_MONITORING: Final = "Monitoring"
_MOST_TITLE: Final = 150  # https://docs.slack.dev/reference/block-kit/blocks/header-block
_MOST_WORDS: Final = 3000  # https://docs.slack.dev/reference/block-kit/blocks/section-block


@dataclass(frozen=True)
class Actor:
    """The person who acts, and what they act on."""

    slack: EmulatedSlack
    viewer: Viewer
    names: Names
    supervisor: Supervisor
    switches: Switchboard
    choices: Choices

    @property
    def me(self) -> str:
        """The person's ID."""
        return self.viewer.me.id

    def own(self, done: MessageBody) -> Message:
        """The message that *done* names, if it is the person's own. Raises ActionFailed."""
        message = self.viewer.message(done.channel, done.ts)
        if message.user != self.me:
            raise ActionFailed("You can only change your own messages.")
        return message


B = TypeVar("B", bound=ActionBody)
Do = Callable[[Actor, Any], Awaitable[Json | None]]
_ACTIONS: Final[dict[str, tuple[type[ActionBody], Do]]] = {}


def _action(name: str, body: type[B]) -> Callable[[Callable[[Actor, B], Awaitable[Json | None]]], Do]:
    def register(do: Callable[[Actor, B], Awaitable[Json | None]]) -> Do:
        _ACTIONS[name] = body, do
        return do

    return register


async def act(name: str, sent: Any, actor: Actor) -> Json:
    """Carry out an action. An error comes as a sentence for the reader."""
    body, do = _ACTIONS.get(name, (None, None))
    if body is None or do is None:
        return {"ok": False, "error": f"The playground has no action {name!r}. Reload the page and try again."}
    try:
        done = await do(actor, body.model_validate(sent))
    except ValidationError:
        return {"ok": False, "error": "The page sent an invalid request. Reload it and try again."}
    except (ActionFailed, Refusal, LookupError, ValueError) as exc:
        return {"ok": False, "error": explain(exc)}
    return {"ok": True, **(done or {})}


@_action("say", SayBody)
async def _say(actor: Actor, said: SayBody) -> Json:
    channel = actor.viewer.channel(said.channel)
    if channel.is_archived:
        raise ActionFailed("This channel is archived. Nobody can post here.")
    if not (said.text.strip() or said.files or said.table or said.clip):
        raise ActionFailed("The message is empty. Type something first.")
    if len(said.text) > MOST_TEXT:
        raise ActionFailed(f"A message can have up to {MOST_TEXT:,} characters. This one has {len(said.text):,}.")
    if said.thread_ts:
        actor.viewer.message(said.channel, said.thread_ts)
    table = [actor.slack.people.table(_cells(said.table))] if said.table else []
    ts = await actor.slack.people.say(
        actor.me,
        said.channel,
        as_slack_writes(said.text, actor.names),
        thread_ts=said.thread_ts,
        broadcast=said.broadcast,
        files=[*_files(actor, said.files[:MOST_FILES]), *_clip(actor, said.clip)],
        attachments=table,
        wait=False,  # the bridge may be down: Slack's retries deal with that
    )
    return {"ts": ts}


def _files(actor: Actor, files: Sequence[AttachedFile]) -> list[Json]:
    attach = actor.slack.people.attach
    return [shown for one in files for shown in attach(actor.me, {one.name: _bytes(one)}, alt_txt=one.alt_txt)]


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
    return [[_cell(one, is_text=True) for one in head], *([_cell(one) for one in row] for row in body)]


def _cell(typed: str, *, is_text: bool = False) -> str | float:
    with contextlib.suppress(ValueError):
        if not is_text and math.isfinite(number := float(typed)):
            return number
    return typed or " "  # Slack rejects empty cells


@_action("forward", ForwardBody)
async def _forward(actor: Actor, asked: ForwardBody) -> Json:
    if actor.viewer.message(asked.channel, asked.ts).to:
        raise ActionFailed("A message only you can see can't be forwarded.")
    if actor.viewer.channel(asked.to).is_archived:
        raise ActionFailed("That channel is archived. Choose another one.")
    comment = as_slack_writes(asked.comment, actor.names)
    ts = await actor.slack.people.forward(actor.me, asked.channel, asked.ts, to=asked.to, comment=comment, wait=False)
    return {"ts": ts}


@_action("start_group", GroupBody)
async def _start_group(actor: Actor, asked: GroupBody) -> Json:
    others = [one for one in dict.fromkeys(asked.users) if one != actor.me]
    if len(others) < _FEWEST_OTHERS:
        raise ActionFailed("Choose at least two people. A message to one person is a direct message.")
    if any(one not in actor.viewer.workspace.people or actor.viewer.workspace.people[one].deleted for one in others):
        raise ActionFailed("One of these people has left the workspace. Choose again.")
    return {"channel": actor.slack.people.start_group(actor.me, *others)}


@_action("app_posts", AlertBody)
async def _app_posts(actor: Actor, asked: AlertBody) -> Json:
    """Post as another app, with an empty ``text``, like many alerts."""
    channel = actor.viewer.channel(asked.channel)
    if not (asked.title.strip() and asked.text.strip()):
        raise ActionFailed("An alert needs a title and text.")
    if asked.by == "bot" and OTHER_BOT not in channel.members:
        raise ActionFailed("The other app's bot isn't in this channel. Use the incoming webhook instead.")
    title, text = escaped(asked.title.strip()), escaped(asked.text.strip())
    blocks: list[Json] = []
    attachments: list[Json] = []
    if asked.form == "blocks":
        head = {"type": "header", "text": {"type": "plain_text", "text": asked.title.strip()[:_MOST_TITLE]}}
        blocks = [head, {"type": "section", "text": {"type": "mrkdwn", "text": text[:_MOST_WORDS]}}]
    else:
        attachments = [{"color": "danger", "title": title, "text": text, "fallback": title, "mrkdwn_in": ["text"]}]
    webhook = _MONITORING if asked.by == "webhook" else ""
    ts = await actor.slack.people.app_posts(
        asked.channel, webhook=webhook, blocks=blocks, attachments=attachments, wait=False
    )
    return {"ts": ts}


@_action("edit", EditBody)
async def _edit(actor: Actor, edited: EditBody) -> None:
    actor.own(edited)
    if not edited.text.strip():
        raise ActionFailed("A message can't be empty. You can delete it instead.")
    await actor.slack.people.edit(edited.channel, edited.ts, as_slack_writes(edited.text, actor.names))


@_action("delete", MessageBody)
async def _delete(actor: Actor, deleted: MessageBody) -> None:
    actor.own(deleted)
    await actor.slack.people.delete(deleted.channel, deleted.ts)


@_action("react", ReactBody)
async def _react(actor: Actor, reacted: ReactBody) -> None:
    if actor.viewer.message(reacted.channel, reacted.ts).to:
        raise ActionFailed("You can't react to a message only you can see.")
    await actor.slack.people.react(actor.me, reacted.channel, reacted.ts, reacted.name)


@_action("read", ChannelBody)
async def _read(actor: Actor, read: ChannelBody) -> None:
    channel = actor.viewer.channel(read.channel)
    if actor.viewer.workspace.is_unread(actor.me, channel):  # otherwise each read would refresh every window
        actor.slack.people.read(actor.me, channel.id)


@_action("command", CommandBody)
async def _command(actor: Actor, typed: CommandBody) -> None:
    actor.viewer.channel(typed.channel)
    if typed.command not in {one.command for one in actor.supervisor.commands()}:
        raise ActionFailed(f"{typed.command} is not a valid command. Put a space first to send it as a message.")
    if typed.in_thread:
        raise ActionFailed(f"{typed.command} is not supported in threads. Sorry! Type !{typed.command[1:]} instead.")
    await actor.slack.ui.command(actor.me, typed.channel, typed.command, typed.text)


@_action("click", ClickBody)
async def _click(actor: Actor, at: ClickBody) -> None:
    if actor.viewer.message(at.channel, at.ts).user == SLACKBOT:
        await actor.slack.people.answer_slackbot(actor.me, at.channel, at.ts, at.action_id, wait=False)
        return
    require_ack(await actor.slack.ui.click(actor.me, at.channel, at.ts, at.action_id, block_id=at.block_id))


@_action("select", SelectBody)
async def _select(actor: Actor, at: SelectBody) -> None:
    message = actor.viewer.message(at.channel, at.ts)
    value = actor.choices.chosen(message.all_blocks, at.block_id, at.action_id, at.value)
    require_ack(await actor.slack.ui.select(actor.me, at.channel, at.ts, at.action_id, value, block_id=at.block_id))


@_action("click_in_view", ClickInViewBody)
async def _click_in_view(actor: Actor, at: ClickInViewBody) -> None:
    actor.viewer.view(at.view_id)
    require_ack(await actor.slack.ui.click_in_view(actor.me, at.view_id, at.action_id, block_id=at.block_id))


@_action("select_in_view", SelectInViewBody)
async def _select_in_view(actor: Actor, at: SelectInViewBody) -> None:
    view = actor.viewer.view(at.view_id)
    value = actor.choices.chosen(view.blocks, at.block_id, at.action_id, at.value)
    require_ack(await actor.slack.ui.select_in_view(actor.me, at.view_id, at.action_id, value, block_id=at.block_id))


@_action("suggest", SuggestBody)
async def _suggest(actor: Actor, at: SuggestBody) -> Json:
    if at.view_id:
        actor.viewer.view(at.view_id)
    else:
        actor.viewer.message(at.channel, at.ts)
    where = {"view_id": at.view_id} if at.view_id else {"channel": at.channel, "ts": at.ts}
    options = await actor.slack.ui.suggestions(actor.me, at.action_id, at.typed, block_id=at.block_id, **where)
    actor.choices.offered(at.action_id, options)
    return {"options": [shown_option(one) for one in options]}


@_action("submit", ViewBody)
async def _submit(actor: Actor, sent: ViewBody) -> None:
    view = actor.viewer.view(sent.view_id)
    try:
        values = filled_in(view.blocks, sent.values, actor.choices)
    except LeftEmpty as left:
        actor.viewer.workspace.change_view(
            view, errors=dict.fromkeys(left.blocks, "Please complete this required field.")
        )
        raise ActionFailed("Fill in the required fields.") from left
    require_ack(await actor.slack.ui.submit(sent.view_id, values, actor.me))


@_action("close", ViewBody)
async def _close(actor: Actor, closed: ViewBody) -> None:
    actor.viewer.view(closed.view_id)
    await actor.slack.ui.close(closed.view_id, actor.me)


@_action("shortcut", ShortcutBody)
async def _shortcut(actor: Actor, used: ShortcutBody) -> None:
    if used.ts:
        actor.viewer.message(used.channel, used.ts)
        require_ack(await actor.slack.ui.message_shortcut(actor.me, used.channel, used.ts, used.callback_id))
    else:
        require_ack(await actor.slack.ui.shortcut(actor.me, used.callback_id))


@_action("stop", ThreadBody)
async def _stop(actor: Actor, stopped: ThreadBody) -> None:
    actor.viewer.message(stopped.channel, stopped.thread_ts)
    await actor.slack.people.press_stop(actor.me, stopped.channel, stopped.thread_ts)


@_action("open_home", EmptyBody)
async def _open_home(actor: Actor, _: EmptyBody) -> None:
    await actor.slack.people.open_home(actor.me)


@_action("open_messages", EmptyBody)
async def _open_messages(actor: Actor, _: EmptyBody) -> None:
    await actor.slack.people.open_messages(actor.me)


@_action("fault", SwitchBody)
async def _fault(actor: Actor, turned: SwitchBody) -> None:
    await actor.switches.set_fault(turned.name, turned.is_on)
