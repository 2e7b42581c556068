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
from bridge.playground.page.failing import Sorry, explained, taken
from bridge.playground.page.machinery import Machinery, Switchboard
from bridge.playground.page.messages import shown_option
from bridge.playground.page.names import Names
from bridge.playground.page.sight import Sight
from bridge.playground.page.typed import as_slack_writes, escaped

MOST_TEXT: Final = 40_000
MOST_FILES: Final = 10
_MOST_ROWS: Final = 100  # https://docs.slack.dev/reference/block-kit/blocks/table-block
_MOST_COLUMNS: Final = 20
_FEWEST_OTHERS: Final = 2
_MONITORING: Final = "Monitoring"
_MOST_TITLE: Final = 150  # https://docs.slack.dev/reference/block-kit/blocks/header-block
_MOST_WORDS: Final = 3000  # https://docs.slack.dev/reference/block-kit/blocks/section-block


@dataclass(frozen=True)
class Hand:
    """The person who acts, and what they act on."""

    slack: EmulatedSlack
    sight: Sight
    names: Names
    machinery: Machinery
    switches: Switchboard
    choices: Choices

    @property
    def me(self) -> str:
        """The person's ID."""
        return self.sight.me.id

    def own(self, done: MessageBody) -> Message:
        """The message that *done* names, if it is the person's own. Raises Sorry."""
        message = self.sight.message(done.channel, done.ts)
        if message.user != self.me:
            raise Sorry("You can only change your own messages.")
        return message


B = TypeVar("B", bound=ActionBody)
Do = Callable[[Hand, Any], Awaitable[Json | None]]
_ACTIONS: Final[dict[str, tuple[type[ActionBody], Do]]] = {}


def _action(name: str, body: type[B]) -> Callable[[Callable[[Hand, B], Awaitable[Json | None]]], Do]:
    def register(do: Callable[[Hand, B], Awaitable[Json | None]]) -> Do:
        _ACTIONS[name] = body, do
        return do

    return register


async def act(name: str, sent: Any, hand: Hand) -> Json:
    """Carry out an action. An error comes as a sentence for the reader."""
    body, do = _ACTIONS.get(name, (None, None))
    if body is None or do is None:
        return {"ok": False, "error": f"The playground has no action {name!r}. Reload the page and try again."}
    try:
        done = await do(hand, body.model_validate(sent))
    except ValidationError:
        return {"ok": False, "error": "The page sent an invalid request. Reload it and try again."}
    except (Sorry, Refusal, LookupError, ValueError) as exc:
        return {"ok": False, "error": explained(exc)}
    return {"ok": True, **(done or {})}


@_action("say", SayBody)
async def _say(hand: Hand, said: SayBody) -> Json:
    channel = hand.sight.channel(said.channel)
    if channel.is_archived:
        raise Sorry("This channel is archived. Nobody can post here.")
    if not (said.text.strip() or said.files or said.table or said.clip):
        raise Sorry("The message is empty. Type something first.")
    if len(said.text) > MOST_TEXT:
        raise Sorry(f"A message can have up to {MOST_TEXT:,} characters. This one has {len(said.text):,}.")
    if said.thread_ts:
        hand.sight.message(said.channel, said.thread_ts)
    table = [hand.slack.people.table(_cells(said.table))] if said.table else []
    ts = await hand.slack.people.say(
        hand.me,
        said.channel,
        as_slack_writes(said.text, hand.names),
        thread_ts=said.thread_ts,
        broadcast=said.broadcast,
        files=[*_files(hand, said.files[:MOST_FILES]), *_clip(hand, said.clip)],
        attachments=table,
        wait=False,  # the bridge may be down: Slack's retries deal with that
    )
    return {"ts": ts}


def _files(hand: Hand, files: Sequence[AttachedFile]) -> list[Json]:
    attach = hand.slack.people.attach
    return [shown for one in files for shown in attach(hand.me, {one.name: _bytes(one)}, alt_txt=one.alt_txt)]


def _bytes(file: AttachedFile) -> bytes:
    try:
        return base64.b64decode(file.base64, validate=True) if file.base64 else file.content.encode()
    except ValueError:
        raise Sorry(f"{file.name} arrived incomplete. Attach it again.") from None


def _clip(hand: Hand, clip: Clip | None) -> list[Json]:
    if clip is None:
        return []
    if not clip.words.strip():
        raise Sorry("Enter what you say in the voice clip.")
    people = hand.slack.people
    shown = people.clip(hand.me, clip.words.strip(), is_transcribed=clip.transcript == "ready")
    if clip.transcript != "ready":
        is_never = clip.transcript == "never"
        hand.slack.later(hand.slack.transcribes_in, lambda: people.transcribe(shown["id"], fails=is_never))
    return [shown]


def _cells(rows: Sequence[Sequence[str]]) -> list[list[str | float]]:
    """The cells of a pasted table, padded to its widest row, with numbers parsed below the header."""
    width = max(len(row) for row in rows)
    if len(rows) > _MOST_ROWS or width > _MOST_COLUMNS:
        raise Sorry(f"A table can have up to {_MOST_ROWS} rows and {_MOST_COLUMNS} columns.")
    head, *body = ([*row, *[""] * (width - len(row))] for row in rows)
    return [[_cell(one, is_text=True) for one in head], *([_cell(one) for one in row] for row in body)]


def _cell(typed: str, *, is_text: bool = False) -> str | float:
    with contextlib.suppress(ValueError):
        if not is_text and math.isfinite(number := float(typed)):
            return number
    return typed or " "  # Slack rejects empty cells


@_action("forward", ForwardBody)
async def _forward(hand: Hand, asked: ForwardBody) -> Json:
    if hand.sight.message(asked.channel, asked.ts).to:
        raise Sorry("A message only you can see can't be forwarded.")
    if hand.sight.channel(asked.to).is_archived:
        raise Sorry("That channel is archived. Choose another one.")
    comment = as_slack_writes(asked.comment, hand.names)
    ts = await hand.slack.people.forward(hand.me, asked.channel, asked.ts, to=asked.to, comment=comment, wait=False)
    return {"ts": ts}


@_action("start_group", GroupBody)
async def _start_group(hand: Hand, asked: GroupBody) -> Json:
    others = [one for one in dict.fromkeys(asked.users) if one != hand.me]
    if len(others) < _FEWEST_OTHERS:
        raise Sorry("Choose at least two people. A message to one person is a direct message.")
    if any(one not in hand.sight.workspace.people or hand.sight.workspace.people[one].deleted for one in others):
        raise Sorry("One of these people has left the workspace. Choose again.")
    return {"channel": hand.slack.people.start_group(hand.me, *others)}


@_action("app_posts", AlertBody)
async def _app_posts(hand: Hand, asked: AlertBody) -> Json:
    """Post as another app, with an empty ``text``, like many alerts."""
    channel = hand.sight.channel(asked.channel)
    if not (asked.title.strip() and asked.text.strip()):
        raise Sorry("An alert needs a title and text.")
    if asked.by == "bot" and OTHER_BOT not in channel.members:
        raise Sorry("The other app's bot isn't in this channel. Use the incoming webhook instead.")
    title, text = escaped(asked.title.strip()), escaped(asked.text.strip())
    blocks: list[Json] = []
    attachments: list[Json] = []
    if asked.form == "blocks":
        head = {"type": "header", "text": {"type": "plain_text", "text": asked.title.strip()[:_MOST_TITLE]}}
        blocks = [head, {"type": "section", "text": {"type": "mrkdwn", "text": text[:_MOST_WORDS]}}]
    else:
        attachments = [{"color": "danger", "title": title, "text": text, "fallback": title, "mrkdwn_in": ["text"]}]
    webhook = _MONITORING if asked.by == "webhook" else ""
    ts = await hand.slack.people.app_posts(
        asked.channel, webhook=webhook, blocks=blocks, attachments=attachments, wait=False
    )
    return {"ts": ts}


@_action("edit", EditBody)
async def _edit(hand: Hand, edited: EditBody) -> None:
    hand.own(edited)
    if not edited.text.strip():
        raise Sorry("A message can't be empty. You can delete it instead.")
    await hand.slack.people.edit(edited.channel, edited.ts, as_slack_writes(edited.text, hand.names))


@_action("delete", MessageBody)
async def _delete(hand: Hand, deleted: MessageBody) -> None:
    hand.own(deleted)
    await hand.slack.people.delete(deleted.channel, deleted.ts)


@_action("react", ReactBody)
async def _react(hand: Hand, reacted: ReactBody) -> None:
    if hand.sight.message(reacted.channel, reacted.ts).to:
        raise Sorry("You can't react to a message only you can see.")
    await hand.slack.people.react(hand.me, reacted.channel, reacted.ts, reacted.name)


@_action("read", ChannelBody)
async def _read(hand: Hand, read: ChannelBody) -> None:
    channel = hand.sight.channel(read.channel)
    if hand.sight.workspace.is_unread(hand.me, channel):  # otherwise each read would refresh every window
        hand.slack.people.read(hand.me, channel.id)


@_action("command", CommandBody)
async def _command(hand: Hand, typed: CommandBody) -> None:
    hand.sight.channel(typed.channel)
    if typed.command not in {one.command for one in hand.machinery.commands()}:
        raise Sorry(f"{typed.command} is not a valid command. Put a space first to send it as a message.")
    if typed.in_thread:
        raise Sorry(f"{typed.command} is not supported in threads. Sorry! Type !{typed.command[1:]} there instead.")
    await hand.slack.ui.command(hand.me, typed.channel, typed.command, typed.text)


@_action("click", ClickBody)
async def _click(hand: Hand, at: ClickBody) -> None:
    if hand.sight.message(at.channel, at.ts).user == SLACKBOT:
        await hand.slack.people.answer_slackbot(hand.me, at.channel, at.ts, at.action_id, wait=False)
        return
    taken(await hand.slack.ui.click(hand.me, at.channel, at.ts, at.action_id, block_id=at.block_id))


@_action("select", SelectBody)
async def _select(hand: Hand, at: SelectBody) -> None:
    message = hand.sight.message(at.channel, at.ts)
    value = hand.choices.chosen(message.all_blocks, at.block_id, at.action_id, at.value)
    taken(await hand.slack.ui.select(hand.me, at.channel, at.ts, at.action_id, value, block_id=at.block_id))


@_action("click_in_view", ClickInViewBody)
async def _click_in_view(hand: Hand, at: ClickInViewBody) -> None:
    hand.sight.view(at.view_id)
    taken(await hand.slack.ui.click_in_view(hand.me, at.view_id, at.action_id, block_id=at.block_id))


@_action("select_in_view", SelectInViewBody)
async def _select_in_view(hand: Hand, at: SelectInViewBody) -> None:
    view = hand.sight.view(at.view_id)
    value = hand.choices.chosen(view.blocks, at.block_id, at.action_id, at.value)
    taken(await hand.slack.ui.select_in_view(hand.me, at.view_id, at.action_id, value, block_id=at.block_id))


@_action("suggest", SuggestBody)
async def _suggest(hand: Hand, at: SuggestBody) -> Json:
    if at.view_id:
        hand.sight.view(at.view_id)
    else:
        hand.sight.message(at.channel, at.ts)
    where = {"view_id": at.view_id} if at.view_id else {"channel": at.channel, "ts": at.ts}
    options = await hand.slack.ui.suggestions(hand.me, at.action_id, at.typed, block_id=at.block_id, **where)
    hand.choices.offered(at.action_id, options)
    return {"options": [shown_option(one) for one in options]}


@_action("submit", ViewBody)
async def _submit(hand: Hand, sent: ViewBody) -> None:
    view = hand.sight.view(sent.view_id)
    try:
        values = filled_in(view.blocks, sent.values, hand.choices)
    except LeftEmpty as left:
        hand.sight.workspace.change_view(
            view, errors=dict.fromkeys(left.blocks, "Please complete this required field.")
        )
        raise Sorry("Fill in the required fields.") from left
    taken(await hand.slack.ui.submit(sent.view_id, values, hand.me))


@_action("close", ViewBody)
async def _close(hand: Hand, closed: ViewBody) -> None:
    hand.sight.view(closed.view_id)
    await hand.slack.ui.close(closed.view_id, hand.me)


@_action("shortcut", ShortcutBody)
async def _shortcut(hand: Hand, used: ShortcutBody) -> None:
    if used.ts:
        hand.sight.message(used.channel, used.ts)
        taken(await hand.slack.ui.message_shortcut(hand.me, used.channel, used.ts, used.callback_id))
    else:
        taken(await hand.slack.ui.shortcut(hand.me, used.callback_id))


@_action("stop", ThreadBody)
async def _stop(hand: Hand, stopped: ThreadBody) -> None:
    hand.sight.message(stopped.channel, stopped.thread_ts)
    await hand.slack.people.press_stop(hand.me, stopped.channel, stopped.thread_ts)


@_action("open_home", EmptyBody)
async def _open_home(hand: Hand, _: EmptyBody) -> None:
    await hand.slack.people.open_home(hand.me)


@_action("open_messages", EmptyBody)
async def _open_messages(hand: Hand, _: EmptyBody) -> None:
    await hand.slack.people.open_messages(hand.me)


@_action("fault", SwitchBody)
async def _fault(hand: Hand, turned: SwitchBody) -> None:
    await hand.switches.set_fault(turned.name, turned.is_on)
