"""Agents: the list, and one agent with its tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bridge.features.buttons import NO_FACES, OPEN_IN_PROJECT, ask_button
from bridge.project.models import Agent, AgentDetail
from bridge.slack.blockkit import kit, untyped_json
from bridge.slack.blockkit.lists import ListPage, by_name, list_reply, matching
from bridge.slack.blockkit.reply import Audience, Block, Reply

ASKED_SMALL: Final = "{asked}. Reply in the thread to continue."

OPEN_FACE: Final = "face:form"
"""The button opens the form that changes an agent's face; its value may be the agent's ID."""

TURNS: Final = ("list:agents:previous", "list:agents:next")
"""The buttons that turn the list's pages."""


def agent_list(
    agents: Sequence[Agent],
    wanted: str = "",
    default: int | None = None,
    page: int = 0,
    *,
    faces: Mapping[int, str] = NO_FACES,
    project: str = "",
) -> Reply:
    """Show a page of the agents matching *wanted* in *project*, with their *faces*, and the *default* marked."""
    found = by_name(matching(agents, wanted))
    quoted = kit.quoted(wanted, 60)
    if not found and wanted:
        return kit.ask(
            f"No agent matches {quoted}.", kit.button("Show all agents", TURNS[0], ListPage().model_dump_json())
        )
    if not found:
        return kit.reply("This project has no agents yet.")

    def line(agent: Agent) -> Block:
        mark = [kit.words(" · default in this channel", italic=True)] if agent.id == default else []
        about = kit.one_line(agent.description or "", kit.DESCRIPTION)
        name = kit.words(kit.one_line(agent.name, 100) or kit.NO_NAME, bold=True)
        facts = " · ".join(filter(None, (f" · ID {agent.id}", kit.one_line(agent.model or "", 60))))
        return kit.paragraph(*_face(faces.get(agent.id, "")), name, facts, *mark, f"\n{about}" if about else "")

    title = kit.titled(f"Agents matching {quoted}" if wanted else "Agents", project)
    ask = kit.actions(ask_button(None, "Ask an agent…"))
    return list_reply(title, found, line, ListPage(page=page, words=wanted), TURNS, ask)


def _face(face: str) -> list[Block | str]:
    return [kit.emoji(face), " "] if face else []


def agent_card(
    agent: Agent,
    detail: AgentDetail,
    url: str = "",
    project: str = "",
    *,
    face: str = "",
    may_change_face: bool = False,
) -> Reply:
    """Show one agent: its purpose, model and tools; *url* is the template of its address in the project's own pages.

    *project* is the project's name if there are several. *may_change_face* offers the form for that.
    """
    name = kit.one_line(detail.name or agent.name) or kit.NO_NAME
    description = detail.description or agent.description or ""
    temperature = agent.temperature if detail.temperature is None else detail.temperature
    facts = [("Project", project or None), ("ID", str(agent.id)), ("Model", detail.model or agent.model)]
    if temperature is not None:
        facts.append(("Temperature", f"{temperature:g}"))
    tools = untyped_json.listed(untyped_json.names_in(detail.tools), 1500)
    if not tools:  # they contain nothing that looks like a name
        tools = f"{count:,}" if (count := untyped_json.how_many(detail.tools)) else "none"
    blocks = [
        kit.header(kit.with_face(face, name)),
        *([kit.section(kit.cut(description, 2000))] if description.strip() else []),
    ]
    blocks += [kit.fields(facts), kit.rich(kit.paragraph(kit.words("Tools: ", bold=True), tools))]
    if welcome := kit.one_line(detail.welcome_message or agent.welcome_message or "", 1000):
        blocks.append(kit.rich(kit.paragraph(kit.words("Welcome message: ", bold=True), welcome)))
    if url:
        blocks.append(kit.rich(kit.paragraph(kit.link(url, OPEN_IN_PROJECT, id=agent.id))))
    change = [kit.button("Change face…", OPEN_FACE, str(agent.id), about=name)] if face and may_change_face else []
    blocks.append(kit.actions(ask_button(agent, "Ask…"), *change))
    return kit.reply(f"Agent {name} (ID {agent.id}). {description}", *blocks)


def face_saved(agent: Agent, face: str, *, is_shown: bool) -> Reply:
    """Say which face an agent has now, and if the app can't show it, what to do."""
    text = f"{kit.named(agent.name, 100)} has a new face:"
    small = [] if is_shown else ["It's shown once your admin gives the app the permission chat:write.customize."]
    blocks = [kit.rich(kit.paragraph(f"{text} ", kit.emoji(face))), *map(kit.context, small)]
    return kit.reply(" ".join([text, face, *small]), *blocks)


def face_in_file(agent: Agent) -> Reply:
    """Say that the operator's file sets this agent's face."""
    return kit.reply(f"Your admin has set the face of {kit.named(agent.name, 100)}, so only they can change it.")


def not_an_emoji(agent: Agent, typed: str) -> Reply:
    """Say that what was typed isn't one emoji, and offer the form."""
    text = f"{kit.quoted(typed, 60)} isn't an emoji. Use one such as :headphones:."
    return kit.ask(text, kit.button("Change face…", OPEN_FACE, str(agent.id)))


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
