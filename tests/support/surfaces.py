"""From a Slack payload to its handler's decision: the surfaces, the rules, the real store.

Slack's answers about users and usergroups come over a socket; payloads match those of the emulated Slack.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass, replace

from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bridge.engine.results import Modal, Outcome, Result
from bridge.errors import NotAllowed
from bridge.inbound import Notice
from bridge.json_reader import Json
from bridge.playground.emulator import payloads, sample
from bridge.playground.emulator.entities import Channel, Member, Message, View
from bridge.playground.emulator.faults import Http
from bridge.slack.api import Identity
from support.harness import Harness
from support.store import ROOT, message

HOME = Identity(team=sample.TEAM, enterprise="", bot_user=sample.BRIDGE, bot_id=sample.BRIDGE_BOT)
OUTCOMES = {
    "answered": "talks",
    "ran": "runs",
    "agent chosen": "chooses",
    "sent again": "sends again",
    "gone": "sends again",
}


@dataclass(frozen=True)
class Person:
    """A person: the ``users.info`` data, and the home team in payloads (None: the default)."""

    person: Member
    info: Json | None = None
    payload_team: str | None = None

    def with_team(self, payload: Json) -> Json:
        """Change the home team in a payload, or omit it if ``""``."""
        return payload if self.payload_team is None else {**payload, **_homes(payload, self.payload_team)}


def _homes(payload: Json, team: str) -> Json:
    changed: Json = {}
    for name in ("user_team", "source_team", "team", "team_id"):
        if isinstance(payload.get(name), str):
            changed[name] = team
    if isinstance(payload.get("user"), dict):
        changed["user"] = {**payload["user"], "team_id": team}
    return changed


@dataclass
class Surfaces:
    """The surfaces of a *harness*; results are described in words."""

    harness: Harness
    sent: int = 0

    def add_person_to(self, who: Person, channels: Iterable[Channel]) -> None:
        """Add *who* to the workspace and to *channels*, with the data Slack returns."""
        workspace = self.harness.slack.workspace
        workspace.add_person(who.person)
        for channel in channels:
            workspace.add_channel(replace(channel, members=[who.person.id, sample.BRIDGE]))
        if who.info is not None:
            self.harness.slack.faults.on("users.info", Http(200, json.dumps(who.info)), times=None)

    async def bind(self, channel: Channel) -> str:
        """Start an answered conversation in *channel*; return its root."""
        await self.harness.store.queue(message(team=self.harness.identity.team, channel=channel.id), agent=7)
        process = self.harness.store.process()
        await process.journal.done(await process.take())
        return ROOT

    async def send(self, who: Person, channel: Channel, text: str, *, thread_ts: str = "") -> str:
        """Have *who* write a message, such as a mention."""
        said = Message(channel.id, f"17000001{self._next():02d}.000100", who.person.id, text, who.person.team)
        said.thread_ts = thread_ts
        said.bot_id = who.person.bot_id
        is_mention = f"<@{sample.BRIDGE}>" in text
        make = payloads.mention_event if is_mention else payloads.message_event
        event = who.with_team(make(said, channel, who.person))
        body = payloads.envelope(event, event_id=f"Ev{self.sent}", now=0.0, channel=channel)
        return await self._outcome((await self._dispatched(body)).status)

    async def type_command(self, who: Person, channel: Channel, command: str, text: str) -> str:
        """Have *who* type a slash command."""
        form = payloads.command_form(who.person, channel, command, text, trigger_id=f"t{self._next()}")
        answer = await self._dispatched(who.with_team(dict(form)))
        return "is asked to try again" if answer.body else await self._outcome(answer.status)

    async def click(self, who: Person, channel: Channel, action_id: str, value: str) -> str:
        """Have *who* press a button or use a menu in a message of the bot."""
        shown = Message(channel.id, ROOT, sample.BRIDGE, "a card", sample.TEAM)
        return await self._pressed(who, payloads.on_message(shown, channel), action_id, value)

    async def click_on_home(self, who: Person, action_id: str, value: str) -> str:
        """Have *who* press a button on their Home tab."""
        return await self._pressed(
            who, payloads.on_view(_view(who, {"type": "home", "blocks": []}, {})), action_id, value
        )

    async def submit(self, who: Person, content: Json, values: dict[str, dict[str, Json]]) -> str:
        """Have *who* submit a form."""
        view = _view(who, content, values)
        body = payloads.view_submission(who.person, view, f"t{self._next()}")
        body["view"]["id"] = f"V{self.sent}"
        answer = await self._dispatched(who.with_team(body))
        return "is asked to try again" if answer.body else await self._outcome(answer.status)

    async def query_options(self, who: Person, channel: Channel, action_id: str) -> str:
        """Have *who* type into a menu with the bridge's options."""
        shown = Message(channel.id, ROOT, sample.BRIDGE, "a menu", sample.TEAM)
        where = payloads.on_message(shown, channel)
        body = payloads.block_suggestion(who.person, where, {"action_id": action_id}, "b1", "")
        answer = await self._dispatched(who.with_team(body))
        return "is offered some" if json.loads(answer.body)["options"] else "is offered nothing"

    async def _pressed(self, who: Person, where: Json, action_id: str, value: str) -> str:
        action = {"type": "button", "action_id": action_id, "block_id": "b1", "value": value}
        body = payloads.block_actions(who.person, where, action, {}, trigger_id=f"t{self._next()}")
        ephemerals = len(self.harness.seen.ephemerals)
        answer = await self._dispatched(who.with_team(body))
        if len(self.harness.seen.ephemerals) > ephemerals:
            return "is asked to try again"
        return await self._outcome(answer.status)

    async def _dispatched(self, body: Json) -> BoltResponse:
        return await self.harness.dispatch(AsyncBoltRequest(mode="socket_mode", body=body))

    async def _outcome(self, status: int) -> str:
        """Describe what was queued, and what its handler does with it."""
        if status != 200:
            return "is sent again by Slack"
        process = self.harness.store.process()
        held = await process.hold()
        if not held:
            return "is ignored"
        turn = await self.harness.take("a", held[0])
        taken = turn.taken
        if isinstance(taken.record.body, Notice):
            outcome = f"is refused: {taken.record.body.what}"
        else:
            outcome = await _describe(self.harness.handle(turn))
        await process.journal.done(taken)
        return outcome

    def _next(self) -> int:
        self.sent += 1
        return self.sent


async def _describe(handled: Awaitable[Result]) -> str:
    try:
        result = await handled
    except NotAllowed as exc:
        return f"may not: {exc.reason}"
    if isinstance(result, Modal):
        return "gets the form"
    return OUTCOMES.get(result.what, "is answered") if isinstance(result, Outcome) else "is answered"


def _view(who: Person, content: Json, values: dict[str, dict[str, Json]]) -> View:
    return View(
        id="V1", user=who.person.id, content=content, hash="h", root_id="V1", team=sample.TEAM, app_id=sample.APP,
        bot_id=sample.BRIDGE_BOT, values=values,
    )  # fmt: skip
