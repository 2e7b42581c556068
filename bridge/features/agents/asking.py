"""The form that starts a conversation with an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bridge.features.agents.layout import ASKED_SMALL, who_asks
from bridge.features.buttons import (
    ID,
    agent_field,
    ask_button,
)
from bridge.project.models import Agent
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.modals import (
    ONLY_THE_FIRST,
    OPEN_THE_FORM,
    FormErrors,
    Origin,
    channel_menu,
    modal,
    text_input,
)
from bridge.slack.blockkit.reply import Audience, Reply, View
from bridge.slack.parts import Place

ASK_AN_AGENT: Final = "Ask an agent"

ASK: Final = "ask"
"""The form's callback_id."""

AGENT: Final = "agent"
MESSAGE: Final = "message"
ABOUT: Final = "about"
WHERE: Final = "where"

_IN_THREAD: Final = "thread"
_DIRECT: Final = "direct"


@dataclass(frozen=True, slots=True)
class AgentQuestion:
    """A valid form: the *agent*'s ID, the *message* for it, and the text that the message is *about*."""

    agent: int
    message: str
    about: str


def ask_form(agent: Agent | None, origin: Origin, *, about: str | None = None, message: str = "") -> View:
    """Return the form that starts a conversation, with *message* filled in.

    *about* is the text of the message whose shortcut was used.
    """
    fields = [
        agent_field(agent),
        kit.input_block(MESSAGE, "Your question", text_input(MESSAGE, message)),
    ]
    if about is not None:
        hint = "The agent gets this as a quotation, with earlier messages from the same thread."
        if len(about) > kit.PLAIN_TEXT_INPUT:
            hint = ONLY_THE_FIRST
        element = text_input(ABOUT, about)
        fields.append(kit.input_block(ABOUT, "About this message", element, hint=hint, optional=True))
    menu = channel_menu(WHERE, origin.direct or origin.channel)
    if origin.thread_ts:
        choices = [kit.option("The message's thread, visible to everyone there", _IN_THREAD)]
        if origin.direct and origin.direct != origin.channel:
            choices.append(kit.option("Your direct messages with me, visible only to you", _DIRECT))
        menu = kit.select(WHERE, "Choose a place", choices, choices[0])
    fields.append(kit.input_block(WHERE, "Ask in", menu))
    return modal(ASK, ASK_AN_AGENT, "Ask", fields, origin)


def read_ask_form(values: Mapping[str, Any]) -> AgentQuestion | FormErrors:
    """Parse the result of `bridge.slack.blockkit.modals.form_values`."""
    agent, message, about = (str(values.get(name) or "").strip() for name in (AGENT, MESSAGE, ABOUT))
    errors = {} if ID.fullmatch(agent) else {AGENT: "Choose an agent from the list."}
    if not message:
        errors[MESSAGE] = "Enter your question."
    return FormErrors(errors) if errors else AgentQuestion(int(agent), message, about)


def place_of_question(values: Mapping[str, Any], origin: Origin) -> Place:
    """Return where the form's result is shown."""
    match str(values.get(WHERE) or ""):
        case "":
            return Place(origin.chosen or origin.channel)
        case where if where == _IN_THREAD:
            return Place(origin.channel, origin.thread_ts)
        case where if where == _DIRECT:
            return Place(origin.direct)
        case where:
            return Place(where)


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


def offer_ask_form(agent: Agent | None = None) -> Reply:
    """Offer the form with a button, for when it couldn't be opened."""
    text = f"What do you want to ask {kit.named(agent.name, 100)}?" if agent else "Which agent do you want to ask?"
    return kit.ask(text, ask_button(agent, OPEN_THE_FORM))
