"""Agents: the list, and one with its tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bridge.blocks import kit, shapes
from bridge.blocks.lists import Spot, by_name, list_reply, matching
from bridge.blocks.reply import Audience, Block, Reply
from bridge.project.models import Agent, AgentDetail

TURNS: Final = ("list:agents:previous", "list:agents:next")
"""The buttons of the list."""


def agent_list(agents: Sequence[Agent], words: str = "", default: int | None = None, page: int = 0) -> Reply:
    """Show a page of the agents, the channel's *default* marked; with *words*, those that have them."""
    found = by_name(matching(agents, words))
    if not found:
        return kit.reply(_nothing(words))
    title = f"Agents with {kit.quoted(words, 60)}" if words else "Agents"
    spot = Spot(page=page, words=words)
    return list_reply(title, found, lambda agent: _line(agent, is_default=agent.id == default), spot, TURNS)


def agent_card(agent: Agent, detail: AgentDetail) -> Reply:
    """Show one agent: what it is for, its model, and the tools that it can use."""
    name = kit.one_line(detail.name or agent.name)
    description = detail.description or agent.description or ""
    temperature = agent.temperature if detail.temperature is None else detail.temperature
    tools = shapes.listed(shapes.names_in(detail.tools), 1500)
    facts = [("Id", str(agent.id)), ("Model", detail.model or agent.model)]
    facts += [("Temperature", f"{temperature:g}")] if temperature is not None else []
    blocks = [kit.header(name), *([kit.section(kit.cut(description, 2000))] if description.strip() else [])]
    blocks += [kit.fields(facts), kit.rich(kit.paragraph(kit.words("Tools: ", bold=True), tools or _unnamed(detail)))]
    if welcome := kit.one_line(detail.welcome_message or agent.welcome_message or "", 1000):
        blocks.append(kit.rich(kit.paragraph(kit.words("Says hello with: ", bold=True), welcome)))
    return kit.reply(f"Agent {name} (id {agent.id}). {description}", *blocks)


def conversation_root(agent: Agent, message: str, asked_by: str = "") -> Reply:
    """Show a message that was typed in a command, as the root of the thread in which the agent answers."""
    # The bot posts it, and it must not look like a word of the bot's own.
    who = f"{kit.named(asked_by, 80)} asks" if asked_by else "Asked of"
    whom = kit.named(agent.name, 80)
    blocks = [kit.rich(kit.quotation(part)) for part in _parts(kit.clean(message), kit.SECTION_TEXT)]
    blocks.append(kit.context(f"{who} {whom}. Answers and questions go on in this thread."))
    return kit.reply(f"{who} {whom}: {message}", *blocks, audience=Audience.CHANNEL)


def default_set(agent: Agent) -> Reply:
    """Tell that an agent answers in the channel from now on."""
    return kit.reply(f"{kit.named(agent.name, 100)} answers mentions in this channel from now on.")


def default_of_channel(agent: Agent | None, channel_name: str) -> Reply:
    """Tell the same of a channel that was chosen in a form; None is nobody."""
    where = kit.named(f"#{channel_name}", 100)
    if agent is None:
        return kit.reply(f"Nobody in particular answers in {where} any more.")
    return kit.reply(f"{kit.named(agent.name, 100)} answers mentions in {where} from now on.")


def default_taken_away() -> Reply:
    """Tell that no agent is the channel's default any more."""
    return kit.reply("This channel has no default agent any more.")


def _nothing(words: str) -> str:
    if words:
        return f"No agent has {kit.quoted(words, 60)} in its name or description. Without words, all are listed."
    return "This project has no agents yet."


def _unnamed(detail: AgentDetail) -> str:
    count = shapes.how_many(detail.tools)
    return f"{count:,}" if count else "none"


def _line(agent: Agent, *, is_default: bool) -> Block:
    facts = f" · id {agent.id} · {kit.one_line(agent.model, 60)}"
    mark = [kit.words(" · answers mentions in this channel", italic=True)] if is_default else []
    about = kit.one_line(agent.description or "", kit.DESCRIPTION)
    name = kit.words(kit.one_line(agent.name, 100) or "(no name)", bold=True)
    return kit.paragraph(name, facts, *mark, f"\n{about}" if about else "")


def _parts(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, min(len(text), kit.LIST_TEXT), size)] or ["-"]
