"""Buttons, menus and forms: kept first, carried out by a worker; and the options of a searchable menu.

https://docs.slack.dev/interactivity/handling-user-interaction
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

from slack_bolt.async_app import AsyncApp
from slack_bolt.response import BoltResponse

from bridge.blocks import forms, menu, runs
from bridge.blocks.reply import Block
from bridge.chats.access import Access
from bridge.errors import BridgeError, SlackError
from bridge.inbound import Click, Submission
from bridge.project import Catalog
from bridge.slack.door import IN_TIME, NOT_TAKEN, Body, Door, listen, ok
from bridge.slack.payloads import items, mapping, text
from bridge.slack.web import Identity
from bridge.turns.ports import Say, Whom

log = logging.getLogger(__name__)


def parse_click(body: Body, identity: Identity) -> Click:
    """Make a value of a ``block_actions`` payload; a person presses one thing at a time."""
    action = mapping(next(iter(items(body.get("actions"))), None))
    container, message = mapping(body.get("container")), mapping(body.get("message"))
    option = mapping(action.get("selected_option"))
    message_ts = text(container, "message_ts") or text(message, "ts")
    thread_ts = text(container, "thread_ts") or text(message, "thread_ts")
    return Click(
        team=identity.team,
        channel=text(mapping(body.get("channel")), "id") or text(container, "channel_id"),
        user=text(mapping(body.get("user")), "id"),
        **_home_of(body),
        action_id=text(action, "action_id"),
        value=text(option, "value") or text(action, "value"),
        message_ts=message_ts,
        thread_ts="" if thread_ts == message_ts else thread_ts,  # the root of a thread is not in it
        is_ephemeral=container.get("is_ephemeral") is True,
        response_url=text(body, "response_url"),
        trigger_id=text(body, "trigger_id"),
    )


def parse_submission(body: Body, identity: Identity) -> Submission:
    """Make a value of a ``view_submission`` payload. Where it was opened is in its private_metadata."""
    view = mapping(body.get("view"))
    origin = forms.Origin.parse(text(view, "private_metadata"))
    return Submission(
        team=identity.team,
        channel=origin.channel,
        user=text(mapping(body.get("user")), "id"),
        **_home_of(body),
        form=text(view, "callback_id"),
        values=forms.form_values(mapping(mapping(view.get("state")).get("values"))),
        private_metadata=text(view, "private_metadata"),
        response_url=origin.response_url,
        trigger_id=text(body, "trigger_id"),
    )


class Actions:
    """The surface of what is pressed, chosen and filled in."""

    def __init__(self, door: Door, identity: Identity, catalog: Catalog, access: Access, say: Say) -> None:
        self._door = door
        self._identity = identity
        self._catalog = catalog
        self._access = access
        self._say = say

    def register(self, app: AsyncApp) -> None:
        """Listen to every action, form and menu."""
        anything = re.compile(".*", re.DOTALL)
        listen(lambda **how: app.action(anything, **how), self.on_click)
        listen(lambda **how: app.view(anything, **how), self.on_submission)
        listen(lambda **how: app.view_closed(anything, **how), self.on_closed)
        listen(lambda **how: app.options(anything, **how), self.on_options)

    async def on_click(self, body: Body) -> BoltResponse:
        """Keep a click. Slack never repeats it, so a person whose click was not taken is told in private."""
        click = parse_click(body, self._identity)
        taken = await self._door.take(click, identity=_identity_of(click))
        if taken == "not taken":
            await self._tell(click)
        return ok()

    async def on_submission(self, body: Body) -> BoltResponse:
        """Keep a form; what is wrong with it is shown under its fields, and it stays open."""
        submission = parse_submission(body, self._identity)
        if submission.form == forms.RUN:
            request = forms.read_run_form(submission.values)
            if isinstance(request, forms.FormErrors):
                return _errors(request.by_block)
        view_id = text(mapping(body.get("view")), "id")
        if await self._door.take(submission, identity=f"view:{view_id}" if view_id else "") == "not taken":
            return _errors({forms.WORKFLOW: NOT_TAKEN.text})
        return ok()

    async def on_closed(self, body: Body) -> BoltResponse:  # noqa: ARG002 - every surface gets the body
        """A form was closed without being sent: nothing was begun, so nothing ends."""
        return ok()

    async def on_options(self, body: Body) -> BoltResponse:
        """Offer what fits the words typed so far; nothing where the service does not answer in time."""
        try:
            async with asyncio.timeout(IN_TIME.total_seconds()):
                return ok({"options": await self._options(body)})
        except (BridgeError, TimeoutError) as exc:
            log.warning("the options of a menu could not be had", extra={"why": type(exc).__name__})
            return ok({"options": []})

    async def _options(self, body: Body) -> list[Block]:
        if await self._access.refusal(parse_click(body, self._identity)):
            return []
        query = text(body, "value")
        if text(body, "action_id") == menu.CHOOSE:
            return menu.agent_options(await self._catalog.get_agents(), query)
        return forms.workflow_options(await self._catalog.get_workflows(), query)

    async def _tell(self, click: Click) -> None:
        whom = Whom(click.channel, click.user, click.thread_ts, click.response_url)
        try:
            async with asyncio.timeout(0.5):  # what is left of Slack's three seconds
                await self._say.whisper(whom, NOT_TAKEN)
        except (SlackError, TimeoutError):
            log.warning("a person could not be told that a click was not taken")


def _identity_of(click: Click) -> str:
    """What makes a click the same click: for a question that was answered, that it is the same question."""
    if click.action_id == runs.CONFIRM and click.message_ts:
        return f"confirmed:{click.channel}:{click.message_ts}"
    return f"trigger:{click.trigger_id}" if click.trigger_id else ""


def _home_of(body: Body) -> dict[str, Any]:
    """Say where the person is from. ``team`` is where the app is; where the person's is missing, it may be another."""
    team = text(mapping(body.get("user")), "team_id")
    return {"user_team": team, "is_shared": not team}


def _errors(by_block: dict[str, str]) -> BoltResponse:
    return ok({"response_action": "errors", "errors": by_block})
