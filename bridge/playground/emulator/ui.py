"""People's commands, clicks and forms, and how Slack handles the app's responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridge.playground.emulator import escapes, limits, payloads, responses, sample, widgets
from bridge.playground.emulator.deliver import AppDelivery, Deliverer
from bridge.playground.emulator.entities import Json, Message, View
from bridge.playground.emulator.server import ApiServer
from bridge.playground.emulator.tickets import Tickets
from bridge.playground.emulator.workspace import Workspace
from bridge.playground.local_server import LocalServer

Surface = Message | View
"""What has buttons and menus: a message, a modal, or Home."""


class NoSuchCommand(LookupError):
    """The installed app has no such command."""


class UserInterface:
    """The interactive side of a workspace. Each method returns the `AppDelivery` with the app's response."""

    def __init__(
        self, workspace: Workspace, deliverer: Deliverer, api: ApiServer, *, tickets: Tickets, server: LocalServer
    ) -> None:
        self._workspace = workspace
        self._deliverer = deliverer
        self._api = api
        self._tickets = tickets
        self._server = server

    async def command(self, user: str, channel: str, command: str, text: str = "") -> AppDelivery:
        """Type a slash command as *user*; the bot needn't be in the channel. Raises NoSuchCommand.

        Channels, people and links in *text* are sent as IDs or as typed, according to the manifest. The app's immediate
        response, or Slackbot's line if there is none, is shown to the user only.
        """
        installed = self._api.installation.commands
        if installed is not None and command not in installed:
            raise NoSuchCommand(command)
        should_escape = installed is not None and installed[command]
        ticket = self._tickets.response(user, channel)
        form = payloads.command_form(
            self._workspace.people[user],
            self._workspace.channels[channel],
            command,
            self._with_ids(user, text) if should_escape else escapes.entities(text),
            response_url=self._response_url(ticket),
            trigger_id=self._tickets.trigger(user),
        )
        delivery = await self._deliverer.command(dict(form))
        if not delivery.is_acked:
            self._show_failure(user, channel, command, delivery)
        elif delivery.body.strip():
            self._show_body(user, channel, ticket, delivery)
        return delivery

    def _with_ids(self, user: str, typed: str) -> str:
        """The typed text with IDs for visible channels, people and groups, and links in brackets."""
        workspace = self._workspace
        channels = {
            channel.name: f"<#{channel.id}|{'' if channel.is_private else channel.name}>"
            for channel in workspace.channels.values()
            if channel.name and (not channel.is_private or user in channel.members)
        }
        people = {
            person.name: f"<@{person.id}|{person.name}>" for person in workspace.people.values() if not person.deleted
        }
        groups = {group.handle: f"<!subteam^{group.id}|@{group.handle}>" for group in workspace.groups.values()}
        return escapes.with_ids(typed, channels=channels, people=groups | people)

    def _show_failure(self, user: str, channel: str, command: str, delivery: AppDelivery) -> None:
        text = f'{command} failed with the error "{delivery.failure}"'
        ts = self._workspace.new_ts()
        self._workspace.messages.show_privately(Message(channel, ts, sample.SLACKBOT, text, sample.TEAM, to=user))

    async def shortcut(self, user: str, callback_id: str) -> AppDelivery:
        person, trigger = self._workspace.people[user], self._tickets.trigger(user)
        payload = payloads.shortcut(person, callback_id, self._workspace.new_ts(), trigger_id=trigger)
        return await self._deliverer.interaction(payload)

    async def message_shortcut(self, user: str, channel: str, ts: str, callback_id: str) -> AppDelivery:
        message = self._workspace.messages.visible(user, channel, ts)
        payload = payloads.message_action(
            self._workspace.people[user],
            payloads.on_message(message, self._workspace.channels[channel]),
            callback_id,
            self._workspace.new_ts(),
            response_url=self._response_url(self._tickets.response(user, channel, ts=ts)),
            trigger_id=self._tickets.trigger(user),
        )
        return await self._deliverer.interaction(payload)

    async def click(self, user: str, channel: str, ts: str, action_id: str, *, block_id: str = "") -> AppDelivery:
        """Press a button in a message as *user*."""
        message = self._workspace.messages.visible(user, channel, ts)
        return await self.press(user, message, action_id, block_id=block_id)

    async def select(
        self, user: str, channel: str, ts: str, action_id: str, value: Any, *, block_id: str = ""
    ) -> AppDelivery:
        """Choose from a menu in a message as *user*: an option's value, or a suggested option."""
        message = self._workspace.messages.visible(user, channel, ts)
        return await self.choose(user, message, action_id, value, block_id=block_id)

    async def press(self, user: str, surface: Surface, action_id: str, *, block_id: str = "") -> AppDelivery:
        """Press a button as *user*; a confirmation is accepted."""
        element, block_id = widgets.find(surface.all_blocks, action_id, block_id, user=user)
        return await self._act(user, surface, widgets.pressed(element, block_id, self._workspace.new_ts()))

    async def choose(
        self, user: str, surface: Surface, action_id: str, value: Any, *, block_id: str = ""
    ) -> AppDelivery:
        """Choose from a menu as *user*; in a modal or on Home, it's one with an action."""
        element, block_id = widgets.find(surface.all_blocks, action_id, block_id)
        if isinstance(surface, View):
            surface.values.setdefault(block_id, {})[action_id] = widgets.entered(element, value)
            self._workspace.change_view(surface)
        return await self._act(user, surface, widgets.chosen(element, block_id, value, self._workspace.new_ts()))

    async def suggestions(
        self, user: str, surface: Surface, action_id: str, typed: str, *, block_id: str = ""
    ) -> list[Json]:
        """Type into a menu with external options as *user*. Returns the options."""
        element, block_id = widgets.find(surface.all_blocks, action_id, block_id)
        person = self._workspace.people[user]
        payload = payloads.block_suggestion(person, self._place_of(surface), element, block_id, typed)
        answer = (await self._deliverer.interaction(payload)).json or {}
        groups = answer.get("option_groups", [])
        return [*answer.get("options", []), *(option for group in groups for option in group["options"])]

    async def submit(self, view_id: str, values: Mapping[str, Any], user: str) -> AppDelivery:
        """Fill in a modal (*values* by action_id or block_id) and submit it as *user*."""
        view = self._view(view_id)
        self._workspace.change_view(view, values=widgets.state_of(view.blocks, values), errors={})
        payload = payloads.view_submission(self._workspace.people[user], view, self._tickets.trigger(user, view_id))
        delivery = await self._deliverer.interaction(payload)
        if delivery.is_acked:
            self._after_submission(view, delivery.json)
        return delivery

    async def close(self, view_id: str, user: str) -> AppDelivery | None:
        """Close a modal as *user*; the app gets an event only if it asked for it."""
        view = self._view(view_id)
        self._workspace.close_views([view])
        if not view.content.get("notify_on_close"):
            return None
        payload = payloads.view_closed(self._workspace.people[user], view, is_cleared=False)
        return await self._deliverer.interaction(payload)

    async def _act(self, user: str, surface: Surface, action: Json) -> AppDelivery:
        if isinstance(surface, View):
            state, tickets = surface.values, {"trigger_id": self._tickets.trigger(user, surface.id)}
        else:
            state = {} if action["type"] == "button" else {action["block_id"]: {action["action_id"]: _state(action)}}
            response_url = self._response_url(self._tickets.response(user, surface.channel, ts=surface.ts))
            tickets = {"response_url": response_url, "trigger_id": self._tickets.trigger(user)}
        person = self._workspace.people[user]
        payload = payloads.block_actions(person, self._place_of(surface), action, state, **tickets)
        return await self._deliverer.interaction(payload)

    def _place_of(self, surface: Surface) -> Json:
        if isinstance(surface, View):
            return payloads.on_view(surface)
        return payloads.on_message(surface, self._workspace.channels[surface.channel])

    def _after_submission(self, view: View, answer: Json | None) -> None:
        """https://docs.slack.dev/surfaces/modals#updating_response: close it, or do what the app's response says."""
        action = (answer or {}).get("response_action")
        if action is None:
            self._workspace.close_views([view])
        elif action == "clear":
            self._workspace.close_views(self._workspace.stack(view.user, view.window))
        elif action == "errors":
            self._workspace.change_view(view, errors=dict(answer["errors"]) if answer else {})
        elif answer and action in {"update", "push"}:
            limits.check_view(answer["view"])
            self._replace_or_push(view, action, answer["view"])

    def _replace_or_push(self, view: View, action: str, content: Json) -> None:
        content = {**content, "blocks": self._workspace.messages.identified(content["blocks"])}
        if action == "update":
            self._workspace.change_view(view, content=content, values={})
            return
        self._workspace.open_view(self._workspace.make_view(view.user, content, under=view))

    def _show_body(self, user: str, channel: str, ticket: str, delivery: AppDelivery) -> None:
        """Show the body of the response to a command like one by response URL."""
        is_json = delivery.body.lstrip().startswith("{")
        content: Json = delivery.json if is_json else {"text": delivery.body}
        delivery.posted, _ = responses.show(self._workspace, self._tickets.peek(ticket), content)
        self._api.note("body", user, channel, content)

    def _response_url(self, ticket: str) -> str:
        return f"{self._server.url}/response/{ticket}"

    def _view(self, view_id: str) -> View:
        view = self._workspace.find_view(view_id)
        if view is None:
            raise LookupError(view_id)
        return view


def _state(action: Json) -> Json:
    return {name: value for name, value in action.items() if name not in {"action_id", "block_id", "action_ts"}}
