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


class NotInThreads(ValueError):
    """Slash commands don't work in threads: https://docs.slack.dev/interactivity/implementing-slash-commands."""

    def __init__(self, command: str) -> None:
        super().__init__(f"{command} is not supported in threads. Sorry!")


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

    async def command(
        self, user: str, channel: str, command: str, text: str = "", *, in_thread: bool = False
    ) -> AppDelivery:
        """Type a slash command as *user*; the bot needn't be in the channel. Raises NotInThreads and NoSuchCommand.

        Channels, people and links in *text* are sent as IDs or as typed, according to the manifest. The app's immediate
        response, or Slackbot's line if there is none, is shown to the user only.
        """
        if in_thread:
            raise NotInThreads(command)
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
            one.name: f"<#{one.id}|{'' if one.is_private else one.name}>"
            for one in workspace.channels.values()
            if one.name and (not one.is_private or user in one.members)
        }
        people = {one.name: f"<@{one.id}|{one.name}>" for one in workspace.people.values() if not one.deleted}
        groups = {one.handle: f"<!subteam^{one.id}|@{one.handle}>" for one in workspace.groups.values()}
        return escapes.with_ids(typed, channels=channels, people=groups | people)

    def _show_failure(self, user: str, channel: str, command: str, delivery: AppDelivery) -> None:
        is_late = delivery.error in {"http_timeout", "timeout"}
        text = f'{command} failed with the error "{"operation_timeout" if is_late else "dispatch_failed"}"'
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
        """Press a button in a message as *user*; a confirmation is accepted."""
        element, block_id = widgets.find(
            self._workspace.messages.visible(user, channel, ts).all_blocks, action_id, block_id, user=user
        )
        return await self._act(user, channel, ts, widgets.pressed(element, block_id, self._workspace.new_ts()))

    async def select(
        self, user: str, channel: str, ts: str, action_id: str, value: Any, *, block_id: str = ""
    ) -> AppDelivery:
        """Choose from a menu in a message as *user*: an option's value, or a suggested option."""
        element, block_id = widgets.find(
            self._workspace.messages.visible(user, channel, ts).all_blocks, action_id, block_id
        )
        return await self._act(user, channel, ts, widgets.chosen(element, block_id, value, self._workspace.new_ts()))

    async def click_in_view(self, user: str, view_id: str, action_id: str, *, block_id: str = "") -> AppDelivery:
        """Press a button in a modal or on Home as *user*."""
        element, block_id = widgets.find(self._view(view_id).blocks, action_id, block_id)
        return await self._act_in_view(user, view_id, widgets.pressed(element, block_id, self._workspace.new_ts()))

    async def select_in_view(
        self, user: str, view_id: str, action_id: str, value: Any, *, block_id: str = ""
    ) -> AppDelivery:
        """Choose from a menu with an action in a modal or on Home, as *user*."""
        view = self._view(view_id)
        element, block_id = widgets.find(view.blocks, action_id, block_id)
        view.values.setdefault(block_id, {})[action_id] = widgets.entered(element, value)
        self._workspace.change_view(view)
        return await self._act_in_view(
            user, view_id, widgets.chosen(element, block_id, value, self._workspace.new_ts())
        )

    async def suggestions(
        self,
        user: str,
        action_id: str,
        typed: str,
        *,
        channel: str = "",
        ts: str = "",
        view_id: str = "",
        block_id: str = "",
    ) -> list[Json]:
        """Type into a menu with external options as *user*. Returns the options."""
        if view_id:
            blocks, where = self._view(view_id).blocks, payloads.on_view(self._view(view_id))
        else:
            message = self._workspace.messages.visible(user, channel, ts)
            blocks, where = message.all_blocks, payloads.on_message(message, self._workspace.channels[channel])
        element, block_id = widgets.find(blocks, action_id, block_id)
        payload = payloads.block_suggestion(self._workspace.people[user], where, element, block_id, typed)
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

    async def _act(self, user: str, channel: str, ts: str, action: Json) -> AppDelivery:
        message = self._workspace.messages.visible(user, channel, ts)
        ticket = self._tickets.response(user, channel, ts=ts)
        state = {} if action["type"] == "button" else {action["block_id"]: {action["action_id"]: _state(action)}}
        payload = payloads.block_actions(
            self._workspace.people[user],
            payloads.on_message(message, self._workspace.channels[channel]),
            action,
            state,
            response_url=self._response_url(ticket),
            trigger_id=self._tickets.trigger(user),
        )
        return await self._deliverer.interaction(payload)

    async def _act_in_view(self, user: str, view_id: str, action: Json) -> AppDelivery:
        view = self._view(view_id)
        trigger = self._tickets.trigger(user, view_id)
        person = self._workspace.people[user]
        payload = payloads.block_actions(person, payloads.on_view(view), action, view.values, trigger_id=trigger)
        return await self._deliverer.interaction(payload)

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
        responses.show(self._workspace, self._tickets.peek(ticket), content)
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
