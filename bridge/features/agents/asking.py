"""The form that starts a conversation with an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bridge.engine.forms import ChannelMenu, Form, Select, Text, Values, needed
from bridge.engine.results import Modal
from bridge.features.agents.layout import ASKED_SMALL, who_asks
from bridge.features.buttons import OPEN_ASK, agent_menu
from bridge.project.models import Agent
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.modals import Origin
from bridge.slack.blockkit.reply import Audience, Reply
from bridge.slack.parts import Place

ASK_AN_AGENT: Final = "Ask an agent"


@dataclass(frozen=True, slots=True)
class AgentQuestion:
    """A valid form: the *agent*'s ID, the *message* for it, and the text that the message is *about*."""

    agent: int
    message: str
    about: str


class AskForm(Form):
    """The form that starts a conversation."""

    id, title, submit, opener = "ask", ASK_AN_AGENT, "Ask", OPEN_ASK

    agent = agent_menu(act="ask")
    message = Text("Your question", check=needed("Enter your question."))
    about = Text(
        "About this message",
        is_optional=True,
        hint="The agent gets this as a quotation, with earlier messages from the same thread.",
    )
    where = ChannelMenu("Ask in", hint="")

    @classmethod
    def _read(cls, values: Values) -> AgentQuestion:
        return AgentQuestion(int(values["agent"]), values["message"].strip(), values["about"].strip())

    @classmethod
    def place(cls, values: Mapping[str, Any], origin: Origin) -> Place:
        """Return where the question is asked."""
        match str(values.get("where") or ""):
            case "":
                return Place(origin.chosen or origin.channel)
            case "thread":
                return Place(origin.channel, origin.thread_ts)
            case "direct":
                return Place(origin.direct)
            case where:
                return Place(where)


def ask_form(agent: Agent | None, origin: Origin, *, about: str | None = None, message: str = "") -> Modal:
    """Open the form that starts a conversation, with *message* filled in.

    *about* is the text of the message whose shortcut was used.
    """
    where: str | Select = origin.direct or origin.channel
    if origin.thread_ts:
        places = {"thread": "The message's thread, visible to everyone there"}
        if origin.direct not in {"", origin.channel}:
            places["direct"] = "Your direct messages with me, visible only to you"
        where = Select("Ask in", places, "Choose a place", initial="thread", name="where")
    without = ["about"] if about is None else []
    blocks = AskForm.blocks(without=without, agent=agent, message=message, about=about, where=where)
    text = f"What do you want to ask {kit.named(agent.name, 100)}?" if agent else "Which agent do you want to ask?"
    value, name = (str(agent.id), agent.name) if agent else ("", "")
    return AskForm.opened(origin, blocks, text, value, about=name)


def question_text(question: AgentQuestion, author: str) -> str:
    """Return the text for the agent: the question, and a quotation of the message it's about."""
    if not question.about:
        return question.message
    by = f"This is about a message from {kit.one_line(author, 80)}:" if author else "This is about a message:"
    return "\n".join([f"{question.message}\n", by, *(f"> {line}" for line in question.about.strip().splitlines())])


def question_shown(agent: Agent, question: AgentQuestion, asked_by: str, author: str) -> Reply:
    """Show the question in the thread, or as its root."""
    asked = who_asks(agent, asked_by)
    blocks = [kit.rich(kit.quotation(kit.cut(kit.clean(question.message), kit.PLAIN_TEXT_INPUT)))]
    if question.about:
        by = f"About a message from {kit.named(author, 80)}:" if author else "About a message:"
        blocks += [kit.context(by), kit.rich(kit.quotation(kit.cut(kit.clean(question.about), kit.CODE_TEXT)))]
    blocks.append(kit.context(ASKED_SMALL.format(asked=asked)))
    return kit.reply(f"{asked}: {question.message}", *blocks, audience=Audience.CHANNEL)
