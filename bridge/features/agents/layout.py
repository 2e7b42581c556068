"""Agents: the list, and one agent with its tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bridge.features.buttons import NO_FACES, OPEN_IN_PROJECT, ask_button
from bridge.project.models import Agent, AgentDetail
from bridge.slack.blockkit import kit, untyped_json
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.lists import ListPage, by_name, list_reply, matching
from bridge.slack.blockkit.reply import Audience, Block, Reply

ASKED_SMALL: Final = "{asked}. The answer appears in the thread: reply there to continue."


HANDLE_TROUBLE: Final = "handle_trouble"
"""The name of the notice that a handle was changed in Slack."""

_PAID: Final = "Handles need a paid Slack plan."
_NO_PERMISSION: Final = (
    "This workspace doesn't let me manage user groups: your admin can change that under Workspace settings → "
    "Permissions → User Groups."
)
_TAKEN: Final = "{handle} is already used in this workspace, so choose another handle."
_NO_HANDLE: Final = {
    "paid_teams_only": _PAID,
    "plan_upgrade_required": _PAID,
    "permission_denied": _NO_PERMISSION,
    "no_permission": _NO_PERMISSION,
    "missing_scope": "Handles need the permissions usergroups:write and usergroups:read: ask your admin to give them "
    "to the app.",
    "handle_already_exists": _TAKEN,
    "name_already_exists": _TAKEN,
    "bad_handle": "Slack doesn't accept {handle} as a handle: use letters, digits, hyphens, underscores and periods.",
    "subteam_max_users_exceeded": "This workspace has too many user groups for another handle.",
}
"""Why there's no handle, by Slack's error. https://docs.slack.dev/reference/methods/usergroups.create."""

NOTHING_ALLOWED: Final = "There's no agent that you can talk to here. Ask your admin for access."

TURNS: Final = ("list:agents:previous", "list:agents:next")
"""The buttons that turn the list's pages."""
HANDLE_NOT_REMOVED: Final = kit.reply("Slack couldn't disable the handle right now. Try again in a minute.")


def agent_list(
    agents: Sequence[Agent],
    wanted: str = "",
    default: int | None = None,
    page: int = 0,
    *,
    faces: Mapping[int, str] = NO_FACES,
    handles: Mapping[int, str] = NO_FACES,
    are_hidden: bool = False,
    project: str = "",
) -> Reply:
    """Show a page of the agents matching *wanted* in *project*, with their *faces* and *handles*.

    The *default* is marked. If some *are_hidden*, there are more than the person may talk to.
    """

    def line(agent: Agent) -> Block:
        mark = [kit.words(" · default in this channel", italic=True)] if agent.id == default else []
        about = kit.one_line(agent.description or "", kit.DESCRIPTION)
        name = kit.words(kit.one_line(agent.name, 100), bold=True)
        model, handle = kit.one_line(agent.model or "", 60), handles.get(agent.id, "")
        shown_face = faces.get(agent.id, "")
        face: list[Block | str] = [kit.emoji(shown_face), " "] if shown_face else []
        facts = " · ".join(filter(None, (f" · ID {agent.id}", model, handle)))
        return kit.paragraph(*face, name, facts, *mark, f"\n{about}" if about else "")

    hits = by_name(matching(agents, wanted))
    spot, ask = ListPage(page=page, words=wanted), ask_button(None, "Ask an agent…")
    nothing = NOTHING_ALLOWED if are_hidden else "This project has no agents yet."
    return list_reply("agent", agents, hits, line, spot, turns=TURNS, nothing=nothing, controls=[ask], project=project)


def agent_card(
    agent: Agent,
    detail: AgentDetail,
    url: str = "",
    project: str = "",
    *,
    face: str = "",
    handle: str = "",
    may_ask: bool = True,
) -> Reply:
    """Show one agent: its purpose, model and tools; *url* is the template of its address in the project's own pages.

    *project* is the project's name if there are several. *may_ask* offers the form to ask it.
    """
    name = kit.one_line(detail.name or "") or kit.one_line(agent.name)
    description = detail.description or agent.description or ""
    temperature = agent.temperature if detail.temperature is None else detail.temperature
    facts = [
        ("Project", project or None),
        ("Model", detail.model or agent.model),
        ("Handle", handle or None),
        ("Temperature", None if temperature is None else f"{temperature:g}"),
    ]
    tools = untyped_json.listed(untyped_json.names_in(detail.tools), 1500)
    if not tools:  # they contain nothing that looks like a name
        tools = f"{count:,}" if (count := untyped_json.how_many(detail.tools)) else "none"
    welcome = kit.one_line(detail.welcome_message or agent.welcome_message or "", 1000)
    return card(
        kit.header(kit.with_face(face, name)),
        kit.cut(description, 2000).strip(),
        kit.fields(facts),
        kit.rich(kit.paragraph(kit.words("Tools: ", bold=True), tools)),
        kit.rich(kit.paragraph(kit.words("Welcome message: ", bold=True), welcome)) if welcome else None,
        kit.rich(kit.paragraph(kit.link(url, OPEN_IN_PROJECT, id=agent.id))) if url else None,
        buttons=[ask_button(agent, "Ask…")] if may_ask else [],
    )


def written(handle: str, trouble: str = "") -> str:
    """Return an agent's handle as a list shows it, with what's wrong with it."""
    return f"@{handle} ⚠️ {trouble}" if trouble else f"@{handle}"


def handle_saved(agent: Agent, handle: str) -> Reply:
    """Say that an agent has a handle, and how it's used."""
    text = f"{kit.named(agent.name, 100)} has the handle @{handle}. Type it in a channel to ask this agent."
    return kit.ask(text, small="It works in channels that I'm a member of, and notifies nobody.")


def handle_removed(agent: Agent) -> Reply:
    """Say that an agent has no handle."""
    return kit.reply(f"{kit.named(agent.name, 100)} no longer has a handle.")


def not_a_handle(typed: str) -> Reply:
    """Say that what was typed can't be a handle."""
    return kit.reply(
        f"{kit.quoted(typed, 60)} can't be a handle. Use letters, digits, hyphens, underscores and periods, such as "
        "@support."
    )


def no_handle(handle: str, error: str) -> Reply:
    """Say in one sentence why Slack doesn't let an agent have a *handle*; without an *error*, it didn't answer."""
    if not error:
        return kit.reply("Slack couldn't set the handle right now. Try again in a minute.")
    if error not in _NO_HANDLE:
        return kit.reply(f"Slack doesn't allow this handle ({kit.one_line(error, 60)}).")
    return kit.reply(_NO_HANDLE[error].format(handle=f"@{handle}"))


def handle_changed(trouble: str, agent: str, before: str, now: str) -> Reply:
    """Tell the person who set a handle, in a direct message, how someone changed it in Slack."""
    whose = f" of {kit.named(agent, 100)}" if agent else ""
    which = f"the handle @{kit.one_line(before, 80)}{whose}" if before else "one of your handles"
    if trouble == "renamed":
        return kit.reply(f"Someone renamed {which}. It's @{kit.one_line(now, 80)} now.", audience=Audience.CHANNEL)
    if trouble.startswith("used"):
        text = f"⚠️ Another user group now has {which}."
    else:
        text = f"⚠️ Someone {'disabled' if trouble == 'disabled' else 'removed'} {which}."
    text += f" To set one again, type {kit.command('/agents handle')}."
    return kit.reply(text, audience=Audience.CHANNEL)


def conversation_root(agent: Agent, message: str, asked_by: str = "") -> Reply:
    """Show a message typed in a command, as the root of the thread where the agent answers."""
    # The bot posts it, but it mustn't look like the bot's own words.
    asked, text = who_asks(agent, asked_by), kit.clean(message)[: kit.LIST_TEXT] or "-"
    parts = [text[at : at + kit.SECTION_TEXT] for at in range(0, len(text), kit.SECTION_TEXT)]
    blocks = [kit.rich(kit.quotation(part)) for part in parts]
    below = kit.context(ASKED_SMALL.format(asked=asked))
    return kit.reply(f"{asked}: {message}", *blocks, below, audience=Audience.CHANNEL)


def who_asks(agent: Agent, asked_by: str) -> str:
    """Return the title of a question: ``Ada asked Support``."""
    whom = kit.named(agent.name, 80)
    return f"{kit.named(asked_by, 80)} asked {whom}" if asked_by else f"Question for {whom}"
