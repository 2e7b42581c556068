"""Buttons, menus and forms: kept first, carried out by a worker; and the options of a searchable menu.

https://docs.slack.dev/interactivity/handling-user-interaction
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from slack_bolt.async_app import AsyncAck, AsyncApp

from bridge.errors import BridgeError
from bridge.features.access import Access
from bridge.features.agents import asking
from bridge.features.conversations import menu
from bridge.features.home import layout as home
from bridge.features.reports.commands import problems_of
from bridge.features.reports.layout import FORM as REPORT
from bridge.features.workflows import forms, run_card as runs
from bridge.inbound import Click, Submission
from bridge.listeners.door import IN_TIME, Body, Door
from bridge.project import Catalog
from bridge.slack.api import Identity
from bridge.slack.blockkit.reply import Block
from bridge.slack.payloads import items, mapping, text

log = logging.getLogger(__name__)


def parse_click(body: Body, identity: Identity) -> Click:
    """Make a value of a ``block_actions`` payload; a person presses one thing at a time."""
    action = mapping(next(iter(items(body.get("actions"))), None))
    container, message, view = mapping(body.get("container")), mapping(body.get("message")), mapping(body.get("view"))
    option = mapping(action.get("selected_option"))
    message_ts = text(container, "message_ts") or text(message, "ts")
    thread_ts = text(container, "thread_ts") or text(message, "thread_ts")
    return Click(
        team=identity.team,
        channel=text(mapping(body.get("channel")), "id") or text(container, "channel_id") or _opened_in(view),
        user=text(mapping(body.get("user")), "id"),
        **_home_of(body),
        action_id=text(action, "action_id"),
        value=text(option, "value") or text(action, "value"),
        message_ts=message_ts,
        thread_ts="" if thread_ts == message_ts else thread_ts,  # the root of a thread is not in it
        is_ephemeral=container.get("is_ephemeral") is True,
        response_url=text(body, "response_url") or forms.Origin.parse(text(view, "private_metadata")).response_url,
        trigger_id=text(body, "trigger_id"),
        view=text(view, "type"),
        view_hash=text(view, "hash"),
        private_metadata=text(view, "private_metadata"),
    )


def parse_submission(body: Body, identity: Identity) -> Submission:
    """Make a value of a ``view_submission`` payload. Where it was opened is in its private_metadata."""
    view = mapping(body.get("view"))
    origin = forms.Origin.parse(text(view, "private_metadata"))
    form, values = text(view, "callback_id"), forms.form_values(mapping(mapping(view.get("state")).get("values")))
    place = asking.place_of(form, values, origin)
    return Submission(
        team=identity.team,
        channel=place.channel,
        thread_ts=place.thread_ts,
        opened_in=origin.opened_in,
        user=text(mapping(body.get("user")), "id"),
        **_home_of(body),
        form=form,
        values=values,
        private_metadata=text(view, "private_metadata"),
        response_url=origin.response_url,
        trigger_id=text(body, "trigger_id"),
    )


class Actions:
    """The surface of what is pressed, chosen and filled in."""

    def __init__(self, door: Door, identity: Identity, catalog: Catalog, access: Access) -> None:
        self._door = door
        self._identity = identity
        self._catalog = catalog
        self._access = access

    def register(self, app: AsyncApp) -> None:
        """Listen to every action, form and menu."""
        anything = re.compile(".*", re.DOTALL)
        app.action(anything)(self.on_click)
        app.view(anything)(self.on_submission)
        app.view_closed(anything)(self.on_closed)
        app.options(anything)(self.on_options)

    async def on_click(self, ack: AsyncAck, body: Body) -> None:
        """Keep a click. Raises `NotTaken`."""
        click = parse_click(body, self._identity)
        await self._door.take(click, identity=_identity_of(click))
        await ack()

    async def on_submission(self, ack: AsyncAck, body: Body) -> None:
        """Keep a form; what is wrong with it is shown under its fields, and it stays open. Raises `NotTaken`."""
        submission = parse_submission(body, self._identity)
        if problems := _problems_of(submission):
            await ack(response_action="errors", errors=problems)
            return
        view_id = text(mapping(body.get("view")), "id")
        await self._door.take(submission, identity=f"view:{view_id}" if view_id else "")
        await ack()

    async def on_closed(self, ack: AsyncAck) -> None:
        """A form was closed without being sent: nothing was begun, so nothing ends."""
        await ack()

    async def on_options(self, ack: AsyncAck, body: Body) -> None:
        """Offer what fits the words typed so far; nothing where the service does not answer in time."""
        options: list[Block] = []
        try:
            async with asyncio.timeout(IN_TIME.total_seconds()):
                options = await self._options(body)
        except (BridgeError, TimeoutError) as exc:
            log.warning("the options of a menu could not be had", extra={"why": type(exc).__name__})
        await ack(options=options)

    async def _options(self, body: Body) -> list[Block]:
        if await self._access.refusal(parse_click(body, self._identity)):
            return []
        query, form = text(body, "value"), text(mapping(body.get("view")), "callback_id")
        if text(body, "action_id") in {menu.CHOOSE, asking.AGENT}:
            return asking.agent_choices(await self._catalog.get_agents(), query, form=form)
        return forms.workflow_options(await self._catalog.get_workflows(), query)


_READERS: Final[dict[str, Callable[[Mapping[str, Any]], object]]] = {
    forms.RUN: forms.read_run_form,
    asking.ASK: asking.read_ask_form,
    asking.DEFAULT: asking.read_default_form,
}
"""Who checks a form at the door, so that what is wrong is shown under its fields."""


def _problems_of(submission: Submission) -> dict[str, str]:
    """Say what is wrong with a form, under which of its blocks."""
    read = _READERS.get(submission.form)
    if read and isinstance(problems := read(submission.values), forms.FormErrors):
        return problems.by_block
    return problems_of(submission) if submission.form == REPORT else {}


def first_field(body: Body) -> str:
    """Find a field under which Slack can show what is wrong with a form as a whole."""
    blocks = map(mapping, items(mapping(body.get("view")).get("blocks")))
    return next((text(block, "block_id") for block in blocks if block.get("type") == "input"), forms.WORKFLOW)


def _opened_in(view: Mapping[str, Any]) -> str:
    """Say to which channel a click in a modal or in Home belongs, which the bridge itself put there."""
    carried = text(view, "private_metadata")
    return home.Spot.parse(carried).channel if view.get("type") == "home" else forms.Origin.parse(carried).opened_in


def _identity_of(click: Click) -> str:
    """What makes a click the same click: for a question that was answered, that it is the same question."""
    if click.action_id in {runs.CONFIRM, runs.AS_TEXT} and click.message_ts:
        return f"confirmed:{click.channel}:{click.message_ts}"
    return f"trigger:{click.trigger_id}" if click.trigger_id else ""


def _home_of(body: Body) -> dict[str, Any]:
    """Say where the person is from. ``team`` is where the app is; where the person's is missing, it may be another."""
    team = text(mapping(body.get("user")), "team_id")
    return {"user_team": team, "is_shared": not team}
