"""Everything that one window shows, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from bridge.playground.emulator.entities import Channel, Json, Member, Message
from bridge.playground.page.emojis import COMMON, glyph
from bridge.playground.page.messages import shown_message, shown_view
from bridge.playground.page.names import Names
from bridge.playground.page.supervisor import Supervisor, Switch
from bridge.playground.page.viewer import Viewer

MOST_MESSAGES: Final = 200


@dataclass(frozen=True)
class StateQuery:
    """What a *window* asks for; *before* is a ts, for older messages."""

    channel: str = ""
    thread: str = ""
    before: str = ""
    is_full: bool = False
    window: str = ""


@dataclass(frozen=True)
class SharedState:
    """What every window shows: the parts, the faults, the first steps taken, and which agent answers by default."""

    version: int
    supervisor: Supervisor
    faults: Sequence[Switch]
    steps: Sequence[str]
    default_agent: str


def state(viewer: Viewer, names: Names, asked: StateQuery, shared: SharedState) -> Json:
    """The state of a window. Raises NotVisible."""
    direct = viewer.direct_message()
    channels = viewer.channels()
    channel = viewer.channel(asked.channel) if asked.channel else channels[0]
    supervisor = shared.supervisor
    return {
        "version": shared.version,
        "me": shown_person(viewer.me) | {"tz": viewer.me.tz},
        "people": [shown_person(person) for person in viewer.workspace.people.values() if _is_listed(person)],
        "channels": [_listed(channel, viewer, names) for channel in channels],
        "channel": _opened(channel, viewer, names),
        **_messages(viewer, names, channel, asked),
        "thread": _thread(viewer, names, channel, asked.thread),
        "views": [shown_view(view, names) for view in viewer.workspace.stack(viewer.me.id, asked.window)],
        **_of_the_app(viewer, names, supervisor, is_shown=channel.id == direct.id),
        "commands": supervisor.features.get("slash_commands", []),
        "shortcuts": supervisor.features.get("shortcuts", []),
        **({"emoji": [[name, glyph(name)] for name in COMMON]} if asked.is_full else {}),
        "parts": [asdict(part) for part in supervisor.parts()],
        "faults": [_switch(fault) for fault in shared.faults],
        "steps": list(shared.steps),
        "default_agent": shared.default_agent,
        "since": viewer.since,
    }


def _switch(switch: Switch) -> Json:
    return {name: getattr(switch, name) for name in ("name", "group", "title", "explains", "is_on", "button")}


def _is_listed(person: Member) -> bool:
    return not (person.deleted or person.is_slacks)


def shown_person(person: Member) -> Json:
    """A person, and whether they are a guest or a stranger."""
    is_guest = person.is_restricted or person.is_ultra_restricted
    return {
        "id": person.id,
        "name": person.name,
        "real_name": person.real_name,
        "kind": "stranger" if person.is_stranger else "guest" if is_guest else "home",
        "is_bot": person.is_bot,
    }


def _listed(channel: Channel, viewer: Viewer, names: Names) -> Json:
    other = (
        next((member for member in channel.members if member != viewer.me.id), viewer.me.id) if channel.is_im else ""
    )
    people = sorted(viewer.workspace.people[member].real_name for member in channel.members if member != viewer.me.id)
    shown: Json = {
        "id": channel.id,
        "name": names.people.get(other, other)
        if channel.is_im
        else ", ".join(people)
        if channel.is_mpim
        else channel.name,
        "kind": channel.kind,
        "is_shared": channel.is_ext_shared,
        "is_archived": channel.is_archived,
        "unread": viewer.workspace.is_unread(viewer.me.id, channel),
    }
    return shown | ({"with": other} if channel.is_im else {})


def _opened(channel: Channel, viewer: Viewer, names: Names) -> Json:
    more = {"members": list(channel.members), "bot_is_in": viewer.workspace.bot.id in channel.members}
    return _listed(channel, viewer, names) | more


def _messages(viewer: Viewer, names: Names, channel: Channel, asked: StateQuery) -> dict[str, Any]:
    messages = [message for message in viewer.top_level(channel.id) if not asked.before or message.ts < asked.before]
    return {
        "messages": _shown(messages[-MOST_MESSAGES:], viewer, names),
        "has_older": len(messages) > MOST_MESSAGES,
    }


def _thread(viewer: Viewer, names: Names, channel: Channel, ts: str) -> Json | None:
    """The open thread; None if its root is gone."""
    messages = viewer.thread(channel.id, ts) if ts else []
    return {"ts": ts, "messages": _shown(messages, viewer, names)} if messages else None


def _shown(messages: list[Message], viewer: Viewer, names: Names) -> list[Json]:
    return [shown_message(message, viewer, names) for message in messages]


def _of_the_app(viewer: Viewer, names: Names, supervisor: Supervisor, *, is_shown: bool) -> Json:
    """The Home tab and suggested prompts, in the direct message with the app."""
    if not is_shown:
        return {"home": None, "prompts": None}
    home = viewer.workspace.homes.get(viewer.me.id)
    return {"home": home and shown_view(home, names), "prompts": _prompts(viewer, supervisor)}


def _prompts(viewer: Viewer, supervisor: Supervisor) -> Json | None:
    """The prompts that the app set for this person, else its manifest's, as in Slack."""
    session = viewer.workspace.session(viewer.direct_message().id, "")
    prompts = session.prompts or supervisor.features.get("agent_view", {}).get("suggested_prompts", [])
    return {"title": session.prompts_title, "prompts": prompts} if prompts else None
