"""Slash commands, buttons, menus, forms and shortcuts: stored here, handled by a worker. Slack never retries them.

Only menu options and form errors are answered right away. https://docs.slack.dev/interactivity
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from slack_bolt.async_app import AsyncAck, AsyncApp
from slack_bolt.response import BoltResponse

from bridge.door.listeners.app import IN_TIME, Intake
from bridge.ends import notices
from bridge.ends.decisions import not_written
from bridge.engine.destination import Destination
from bridge.engine.forms import MenuQuery
from bridge.engine.projects import ServedProjects, chosen_by
from bridge.errors import BridgeError, SlackError
from bridge.features.registry import features
from bridge.inbound import Click, Shortcut, SlashCommand, Submission
from bridge.json_reader import Json
from bridge.policy.policy import Offered
from bridge.project import Agent
from bridge.project.connection import ProjectConnection
from bridge.slack import contents, in_project
from bridge.slack.api import Identity
from bridge.slack.blockkit import kit, modals
from bridge.slack.blockkit.lists import MenuChoices
from bridge.slack.blockkit.reply import Block
from bridge.slack.payloads import items, mapping, text
from bridge.slack.post import Poster

log = logging.getLogger(__name__)

_NOT_QUEUED: Final = notices.not_queued()
_ANY: Final = re.compile(".*", re.DOTALL)  # features decide which exist


def parse_command(body: Json, identity: Identity, prefix: str) -> SlashCommand:
    """Parse a command's payload, without the configured *prefix*."""
    name = text(body, "command").removeprefix("/").removeprefix(prefix)
    return SlashCommand(
        team=identity.team,
        channel=text(body, "channel_id"),
        user=text(body, "user_id"),
        user_team=text(body, "team_id"),
        is_shared=not body.get("team_id"),  # without a workspace, the person may be from another one
        command=f"/{name}",
        text=text(body, "text"),
        response_url=text(body, "response_url"),
        trigger_id=text(body, "trigger_id"),
    )


def parse_click(body: Json, identity: Identity) -> Click:
    """Parse a ``block_actions`` payload, which has one action."""
    action = mapping(next(iter(items(body.get("actions"))), None))
    container, message, view = mapping(body.get("container")), mapping(body.get("message")), mapping(body.get("view"))
    option, carried = mapping(action.get("selected_option")), text(view, "private_metadata")
    origin = modals.Origin.parse(carried)
    action_id = text(action, "action_id")
    value = text(option, "value") or text(action, "value") or text(action, "selected_conversation")
    # A click in a modal or in Home belongs to the channel that the bridge put into its private_metadata.
    message_ts = text(container, "message_ts") or text(message, "ts")
    thread_ts = text(container, "thread_ts") or text(message, "thread_ts")
    return Click(
        team=identity.team,
        channel=text(mapping(body.get("channel")), "id") or text(container, "channel_id") or origin.opened_in,
        user=text(mapping(body.get("user")), "id"),
        **_home_of(body),
        action_id=action_id,
        value=value,
        project=chosen_by(action_id, value)
        or origin.project
        or in_project.project_of(text(action, "block_id") or text(body, "block_id")),
        message_ts=message_ts,
        thread_ts="" if thread_ts == message_ts else thread_ts,  # a thread's root isn't in it
        is_ephemeral=container.get("is_ephemeral") is True,
        response_url=text(body, "response_url") or origin.response_url,
        trigger_id=text(body, "trigger_id"),
        view=text(view, "type"),
        view_hash=text(view, "hash"),
        private_metadata=carried,
    )


def parse_submission(body: Json, identity: Identity) -> Submission:
    """Parse a ``view_submission`` payload. Its private_metadata says where the form was opened."""
    view = mapping(body.get("view"))
    origin = modals.Origin.parse(text(view, "private_metadata"))
    form, values = text(view, "callback_id"), modals.form_values(mapping(mapping(view.get("state")).get("values")))
    place = features.place_of(form, values, origin)
    return Submission(
        team=identity.team,
        channel=place.channel,
        thread_ts=place.thread_ts,
        opened_in=origin.opened_in,
        user=text(mapping(body.get("user")), "id"),
        **_home_of(body),
        form=form,
        values=values,
        project=origin.project,
        private_metadata=text(view, "private_metadata"),
        response_url=origin.response_url,
        trigger_id=text(body, "trigger_id"),
    )


def parse_shortcut(body: Json, identity: Identity) -> Shortcut:
    """Parse a ``shortcut`` or ``message_action`` payload."""
    message = mapping(body.get("message"))
    message_ts = text(body, "message_ts") or text(message, "ts")
    words, parts = contents.read(message)
    return Shortcut(
        team=identity.team,
        channel=text(mapping(body.get("channel")), "id"),
        user=text(mapping(body.get("user")), "id"),
        **_home_of(body),
        name=text(body, "callback_id"),
        text=words,
        parts=parts,
        not_written=not_written(message) or "",
        author=identity.bot_user if identity.wrote(message) else text(message, "user"),
        message_ts=message_ts,
        thread_ts=text(message, "thread_ts") or message_ts,
        response_url=text(body, "response_url"),
        trigger_id=text(body, "trigger_id"),
    )


def _home_of(body: Json) -> dict[str, Any]:
    """Return the person's workspace; ``team`` is the app's. Without one, they may be from another workspace."""
    team = text(mapping(body.get("user")), "team_id")
    return {"user_team": team, "is_shared": not team}


async def answer_not_stored(identity: Identity, slack: Poster, body: Json) -> BoltResponse:
    """Have Slack retry an event; notify the sender of any other input, which Slack doesn't retry."""
    if "command" in body:
        notice = notices.not_queued(text(body, "command"))
        return BoltResponse(status=HTTPStatus.OK, body={"response_type": "ephemeral", "text": notice.text})
    sent: Click | Shortcut
    match body.get("type"):
        case "view_submission":
            view = mapping(body.get("view"))
            blocks = map(mapping, items(view.get("blocks")))
            # the field that shows the error of the whole form
            names = [text(block, "block_id") for block in blocks if block.get("type") == "input"]
            field = next(iter(names or mapping(mapping(view.get("state")).get("values"))), "")
            problem = {"response_action": "errors", "errors": {field: _NOT_QUEUED.text}}
            return BoltResponse(status=HTTPStatus.OK, body=problem)
        case "block_suggestion":
            return BoltResponse(status=HTTPStatus.OK, body={"options": []})
        case "block_actions":
            sent = parse_click(body, identity)
        case "shortcut" | "message_action":
            sent = parse_shortcut(body, identity)
        case _:
            return BoltResponse(status=HTTPStatus.SERVICE_UNAVAILABLE)
    recipient = Destination.of(sent).recipient
    if recipient.is_reachable:
        try:
            async with asyncio.timeout(0.5):  # the rest of Slack's three seconds
                await slack.whisper(
                    recipient, features.not_stored(sent.name) if isinstance(sent, Shortcut) else _NOT_QUEUED
                )
        except (SlackError, TimeoutError):
            log.warning("can't notify a person that their action wasn't accepted")
    return BoltResponse(status=HTTPStatus.OK)


@dataclass(frozen=True, slots=True)
class InteractionListeners:
    """Listeners for commands, buttons, menus, forms and shortcuts; *prefix* is the slash commands' prefix.

    *faces* returns those of a project's agents.
    """

    intake: Intake
    identity: Identity
    projects: ServedProjects
    faces: Callable[[ProjectConnection, Sequence[Agent]], Mapping[int, str]]
    prefix: str = ""

    def register(self, app: AsyncApp) -> None:
        """Add the listeners to *app*."""
        app.command(_ANY)(self.on_command)
        app.action(_ANY)(self.on_click)
        app.view(_ANY)(self.on_submission)
        app.view_closed(_ANY)(self.on_closed)
        app.options(_ANY)(self.on_options)
        app.shortcut(_ANY)(self.on_shortcut)

    async def on_command(self, ack: AsyncAck, body: Json) -> None:
        """Store a command. Raises `NotStored`."""
        await self.intake.accept(parse_command(body, self.identity, self.prefix))
        await ack()

    async def on_shortcut(self, ack: AsyncAck, body: Json) -> None:
        """Store a shortcut. Raises `NotStored`."""
        await self.intake.accept(parse_shortcut(body, self.identity))
        await ack()

    async def on_click(self, ack: AsyncAck, body: Json) -> None:
        """Store a click. Raises `NotStored`."""
        await self.intake.accept(parse_click(body, self.identity))
        await ack()

    async def on_submission(self, ack: AsyncAck, body: Json) -> None:
        """Store a form. An invalid one stays open with its errors, and another may follow. Raises `NotStored`."""
        submission = parse_submission(body, self.identity)
        match features.stays_open(submission):
            case None:
                view_id = text(mapping(body.get("view")), "id")
                await self.intake.accept(submission, identity=f"view:{view_id}" if view_id else "")
                await ack()
            case modals.FormErrors(by_block):
                await self._answer(ack, response_action="errors", errors=by_block)
            case view:
                await self._answer(ack, response_action="update", view=view)

    async def _answer(self, ack: AsyncAck, **answer: Any) -> None:
        await ack(**kit.as_typed(answer, self.prefix))

    async def on_closed(self, ack: AsyncAck) -> None:
        """Acknowledge that a form was closed without being sent."""
        await ack()

    async def on_options(self, ack: AsyncAck, body: Json) -> None:
        """Return options that match the text typed so far; none if the service doesn't answer in time."""
        options: list[Block] = []
        query, form = text(body, "value"), text(mapping(body.get("view")), "callback_id")
        try:
            async with asyncio.timeout(IN_TIME.total_seconds()):
                click = parse_click(body, self.identity)
                project = self.projects.get(click.project)
                policy = self.intake.policy
                has_key = project is not None and (not project.who or await policy.holds(project.who, click.user))
                if project and has_key and not await policy.refusal(click):
                    catalog, of = project.catalog, (click.user, click.channel, project.key)
                    menu = MenuQuery(
                        catalog,
                        query,
                        partial(self.faces, project),
                        lambda act: Offered(policy, catalog, self.projects.asked(act, *of)),
                    )
                    options = await features.options(form, text(body, "action_id"), menu)
        except (BridgeError, TimeoutError) as exc:
            log.warning("can't load a menu's options", extra={"why": type(exc).__name__})
        if isinstance(options, MenuChoices) and options.label and options:
            await ack(option_groups=[{"label": kit.plain(options.label), "options": options}])
        else:
            await ack(options=options)
