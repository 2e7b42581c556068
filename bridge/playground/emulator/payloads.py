"""Builds Slack's payloads from the workspace; pure. https://docs.slack.dev/reference/events."""

from __future__ import annotations

from typing import Final

from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Channel, Group, Json, Member, Message, View

VERIFICATION_TOKEN: Final = "playground-verification-token"  # noqa: S105 - the deprecated one, which proves nothing

_NAMES: Final = {"im": "directmessage", "group": "privategroup"}  # a group message has its own: mpdm-…


def envelope(event: Json, *, event_id: str, now: float, channel: Channel | None) -> Json:
    """The outer part of an event: https://docs.slack.dev/apis/events-api#event-type-structure."""
    authorization = {
        "enterprise_id": None,
        "team_id": sample.TEAM,
        "user_id": sample.BRIDGE,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": sample.TEAM,
        "context_team_id": sample.TEAM,
        "context_enterprise_id": None,
        "api_app_id": sample.APP,
        "event": event,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": int(now),
        "authorizations": [authorization],
        "is_ext_shared_channel": channel is not None and channel.is_ext_shared,
        "event_context": f"4-{event_id}",
    }


def in_organization(payload: Json, organization: str) -> Json:
    """What Slack sends of a workspace in an *organization* (Enterprise Grid).

    https://docs.slack.dev/enterprise-grid/developing-for-enterprise-grid and
    https://docs.slack.dev/interactivity/implementing-slash-commands, *Understanding the payload*.
    """
    named = {"enterprise_id": organization, "enterprise_name": "Playground"}
    if payload.get("type") == "event_callback":
        seen_by = [{**user, "enterprise_id": organization} for user in payload["authorizations"]]
        more = {"enterprise_id": organization, "context_enterprise_id": organization, "authorizations": seen_by}
        return {**payload, **more}
    if "command" in payload:
        return {**payload, **named}
    enterprise = {"id": organization, "name": "Playground"}
    return {**payload, "enterprise": enterprise, "team": {**payload["team"], **named}}


def message_event(message: Message, channel: Channel, author: Member | None) -> Json:
    event = message.as_json() | {"channel": channel.id, "event_ts": message.ts, "channel_type": channel.kind}
    return event | _origin(message, channel, author)


def mention_event(message: Message, channel: Channel, author: Member) -> Json:
    """The ``app_mention`` event of a message, without ``channel_type`` and subtype."""
    event = message.as_json() | {"type": "app_mention", "channel": channel.id, "event_ts": message.ts}
    event.pop("subtype", None)
    return event | {"user_profile": author.event_profile()} | _origin(message, channel, author)


def _origin(message: Message, channel: Channel, author: Member | None) -> Json:
    """In shared channels, events say where the author is from."""
    if not (channel.is_ext_shared or channel.is_org_shared) or author is None:
        return {}
    return {"user_team": author.team, "source_team": message.team, "user_profile": author.event_profile()}


def changed_event(message: Message, before: Json, channel: Channel, ts: str) -> Json:
    """A ``message_changed`` event: https://docs.slack.dev/reference/events/message/message_changed."""
    return _hidden("message_changed", channel, ts) | {"message": message.as_json(), "previous_message": before}


def deleted_event(message: Message, before: Json, channel: Channel, ts: str) -> Json:
    """The event of a deletion. A root with replies has changed into a tombstone."""
    if message.subtype == "tombstone":
        return changed_event(message, before, channel, ts)
    return _hidden("message_deleted", channel, ts) | {"deleted_ts": message.ts, "previous_message": before}


def _hidden(subtype: str, channel: Channel, ts: str) -> Json:
    return {
        "type": "message",
        "subtype": subtype,
        "hidden": True,
        "channel": channel.id,
        "channel_type": channel.kind,
        "ts": ts,
        "event_ts": ts,
    }


def command_form(person: Member, channel: Channel, command: str, text: str, **tickets: str) -> dict[str, str]:
    """A slash command's form: https://docs.slack.dev/interactivity/implementing-slash-commands."""
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": person.team,
        "team_domain": sample.TEAM_DOMAIN,
        "channel_id": channel.id,
        "channel_name": _NAMES.get(channel.kind, channel.name),
        "user_id": person.id,
        "user_name": person.name,
        "command": command,
        "text": text,
        "api_app_id": sample.APP,
        "is_enterprise_install": "false",
        **tickets,
    }


def _interaction(kind: str, person: Member) -> Json:
    return {
        "type": kind,
        "user": {"id": person.id, "username": person.name, "name": person.name, "team_id": person.team},
        "api_app_id": sample.APP,
        "token": VERIFICATION_TOKEN,
        "team": {"id": sample.TEAM, "domain": sample.TEAM_DOMAIN},
        "enterprise": None,
        "is_enterprise_install": False,
    }


def on_message(message: Message, channel: Channel) -> Json:
    """The place of a click in a message."""
    container = {
        "type": "message",
        "message_ts": message.ts,
        "channel_id": channel.id,
        "is_ephemeral": bool(message.to),
    }
    if message.thread_ts:
        container["thread_ts"] = message.thread_ts
    where: Json = {
        "container": container,
        "channel": {"id": channel.id, "name": _NAMES.get(channel.kind, channel.name)},
    }
    return where if message.to else where | {"message": message.as_json()}  # Slack doesn't include private messages


def on_view(view: View) -> Json:
    return {"container": {"type": "view", "view_id": view.id}, "view": view.as_json()}


def block_actions(person: Member, where: Json, action: Json, state: Json, **tickets: str) -> Json:
    """A click: https://docs.slack.dev/reference/interaction-payloads/block_actions-payload."""
    return {
        **_interaction("block_actions", person),
        **where,
        "state": {"values": state},
        "actions": [action],
        **tickets,
    }


def shortcut(person: Member, callback_id: str, now: str, *, trigger_id: str) -> Json:
    """A global shortcut: https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload."""
    more = {"callback_id": callback_id, "action_ts": now, "trigger_id": trigger_id}
    return {**_interaction("shortcut", person), **more}


def message_action(person: Member, where: Json, callback_id: str, now: str, **tickets: str) -> Json:
    """A shortcut on a message, *where*: the message and its ts are at the top level."""
    ts = where["container"]["message_ts"]
    message = {name: value for name, value in where.items() if name != "container"}
    more = {"callback_id": callback_id, "action_ts": now, "message_ts": ts}
    return {**_interaction("message_action", person), **message, **more, **tickets}


def block_suggestion(person: Member, where: Json, element: Json, block_id: str, typed: str) -> Json:
    """A menu's query while typing: https://docs.slack.dev/reference/interaction-payloads/block_suggestion-payload."""
    asked = {"action_id": element["action_id"], "block_id": block_id, "value": typed}
    return {**_interaction("block_suggestion", person), **where, **asked}


def view_submission(person: Member, view: View, trigger_id: str) -> Json:
    extra = {"trigger_id": trigger_id, "view": view.as_json(), "response_urls": []}
    return {**_interaction("view_submission", person), **extra}


def view_closed(person: Member, view: View, *, is_cleared: bool) -> Json:
    return {**_interaction("view_closed", person), "view": view.as_json(), "is_cleared": is_cleared}


def url_verification(challenge: str) -> Json:
    return {"token": VERIFICATION_TOKEN, "challenge": challenge, "type": "url_verification"}


def group_event(group: Group, now: str, *, is_new: bool) -> Json:
    """A user group was created or changed: https://docs.slack.dev/reference/events/subteam_updated."""
    kind = "subteam_created" if is_new else "subteam_updated"
    return {"type": kind, "subteam": {**group.as_json(), "users": group.members}, "event_ts": now}


def reaction_event(message: Message, user: str, name: str, now: str, *, is_added: bool) -> Json:
    """A reaction was added or removed: https://docs.slack.dev/reference/events/reaction_added."""
    return {
        "type": "reaction_added" if is_added else "reaction_removed",
        "user": user,
        "reaction": name,
        "item_user": message.user,
        "item": {"type": "message", "channel": message.channel, "ts": message.ts},
        "event_ts": now,
    }


def home_opened(user: str, channel: str, tab: str, now: str, view: Json | None) -> Json:
    """Someone opened the app: https://docs.slack.dev/reference/events/app_home_opened. *view* is a published Home."""
    event = {"type": "app_home_opened", "user": user, "channel": channel, "tab": tab, "event_ts": now}
    return event | ({"view": view} if view else {})


def file_changed(file: str, now: str) -> Json:
    """A file changed: https://docs.slack.dev/reference/events/file_change."""
    return {"type": "file_change", "file_id": file, "file": {"id": file}, "event_ts": now}


def tokens_revoked(bot: str, event_ts: str) -> Json:
    """https://docs.slack.dev/reference/events/tokens_revoked."""
    return {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [bot]}, "event_ts": event_ts}


def session_stopped(channel: str, user: str, thread_ts: str, now: str) -> Json:
    """Someone pressed Stop: https://docs.slack.dev/reference/events/agent_session_stopped."""
    return {
        "type": "agent_session_stopped",
        "channel": channel,
        "user": user,
        "thread_ts": thread_ts,
        "streaming_message_ts": [],
        "event_ts": now,
    }
