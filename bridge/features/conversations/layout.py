"""What is said about a conversation: muted, handed over, continued; its title, its greeting, and its prompts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from bridge.project.models import Agent
from bridge.slack.blockkit import kit, markdown
from bridge.slack.blockkit.reply import Audience, Reply

_MUTED: Final = (
    "Muted: nothing said in this thread goes to the agent until somebody writes !unmute. Commands still work."
)
_HANDED_OVER: Final = "{agent} answers here from now on, in a new session that knows nothing of the earlier one."
_BEFORE_AGENT: Final = "Before, {agent} did."
_BEFORE_AGENT_IN_SESSION: Final = "Before, {agent} did (session {session})."
_TAKES_PLACE_OF_SESSION: Final = (
    "It takes the place of session {session}. To go back to that, write !session {session}."
)
_BEFORE_SESSION: Final = "Before, it was session {session}."
_NO_SUCH_SESSION: Final = (
    "No session {session} can be continued here. "
    "It has to be one of this channel, or of your own direct message with me."
)
_HELLO_WRITE_HERE: Final = (
    "Hello! Write here, and an agent of this project answers. Each message at the top begins a conversation."
)

CONTINUE: Final = "session:continue"
"""Its value is ``<session>:<the session that the thread had, or nothing>``."""

PROMPTS: Final = 4
TITLE: Final = 60
_TITLE_WORDS = 9
_PROMPT_TITLE = 60
_WELCOME = 2000


def muted() -> Reply:
    """Tell that nothing said here is for the agent."""
    return _line(_MUTED)


def unmuted() -> Reply:
    """Tell that what is said here is for the agent again."""
    return _line("No longer muted: the agent gets what is said here from now on.")


def is_muted() -> Reply:
    """Tell a person who speaks to the bot in a muted thread why nothing happens."""
    return kit.reply("This thread is muted, so the agent does not get this message. Write !unmute to change that.")


def handed_over(agent: str, before: str, session: int | None) -> Reply:
    """Tell which agent answers from now on, and which did before."""
    told = _HANDED_OVER.format(agent=kit.named(agent, 100))
    if not before:
        return _line(told)
    was = _BEFORE_AGENT if session is None else _BEFORE_AGENT_IN_SESSION
    return _line(f"{told} {was.format(agent=kit.named(before, 100), session=session)}")


def answers_already(agent: str) -> Reply:
    """Tell that this agent has the thread."""
    return kit.reply(f"{kit.named(agent, 100)} answers here already. Write !new to begin a new session.")


def ask_to_continue(session: int, agent: str, before: int | None, value: str) -> Reply:
    """Ask before the session of a thread is replaced."""
    text = f"Continue session {session} with {kit.named(agent, 100)} in this thread?"
    has = "It takes the place of what it has now." if before is None else _TAKES_PLACE_OF_SESSION.format(session=before)
    yes = kit.button(f"Continue session {session}", CONTINUE, value)
    return kit.reply(text, kit.section(text), kit.context(has), kit.actions(yes))


def continued(session: int, agent: str, before: int | None) -> Reply:
    """Tell which session a thread continues now."""
    told = f"This thread continues session {session} with {kit.named(agent, 100)}."
    return _line(told if before is None else f"{told} {_BEFORE_SESSION.format(session=before)}")


def continues_already(session: int) -> Reply:
    """Tell that this is the thread's session."""
    return kit.reply(f"This thread is in session {session} already.")


def no_such_session(session: str) -> Reply:
    """Tell that a session cannot be continued here; not whether it exists elsewhere."""
    return kit.reply(_NO_SUCH_SESSION.format(session=kit.one_line(session, 20)))


def changed_meanwhile() -> Reply:
    """Tell that a question was about a session that the thread no longer has."""
    return kit.reply("The session of this thread has changed meanwhile, so nothing was done. Please try again.")


def greeting(agent: Agent | None) -> Reply:
    """Greet a person who opens the Messages tab for the first time."""
    welcome = kit.clean(agent.welcome_message or "").strip() if agent else ""
    if agent is None or not welcome:
        return kit.reply(_HELLO_WRITE_HERE, kit.section(_HELLO_WRITE_HERE), audience=Audience.CHANNEL)
    return Reply(
        text=kit.fallback(welcome, 300),
        markdown=markdown.neutralised(kit.cut(welcome, _WELCOME)),
        footer=(kit.context(f"{kit.named(agent.name, 100)} answers here unless you begin with another agent's name."),),
        audience=Audience.CHANNEL,
    )


def prompts(agents: Sequence[Agent], default: Agent | None) -> list[dict[str, str]]:
    """Suggest how to begin: with the default agent, then with others by name, then with a look around."""
    others = [agent for agent in agents if default is None or agent.id != default.id]
    named = [*([default] if default else []), *others][: PROMPTS - 1]
    asked = [_prompt(agent) for agent in named if kit.one_line(agent.name, 100)]
    return [*asked, {"title": "What can I ask for?", "message": "!help"}]


def _prompt(agent: Agent) -> dict[str, str]:
    name = kit.one_line(agent.name, 100)
    title = kit.cut(f"Ask {name}", _PROMPT_TITLE)
    return {"title": title, "message": f"{name}: What can you do?"}


_SECRET = re.compile(
    r"^(?:xox|xapp|sk-|pk-|gh[oprsu]_|glpat|AKIA|eyJ|Bearer$)|:.*@|=|(?=.*\d)(?=.*[A-Za-z])[\w+/.~-]{16,}$|^\d{9,}$|[A-Za-z+/_-]{28,}"
)
_TELLS = re.compile(
    r"(?i)\b(?:pass(?:word|phrase|wort)?|pwd|token|secret|api-?key|key|pin)[:=]?(?: (?:is|was|ist|:))?$"
)
_JOINS = frozenset({"is", "was", "ist", ":"})  # stand between what a secret is called and the secret


def title_of(message: str) -> str:
    """Name a conversation by the first words of its first message, without anything that looks like a secret."""
    shown: list[str] = []
    for word in kit.one_line(message, 400).split()[:_TITLE_WORDS]:
        is_told = word not in _JOINS and _TELLS.search(" ".join(shown[-2:])) is not None
        shown.append("…" if is_told or _SECRET.search(word) else word)
    return markdown.neutralised(kit.cut(" ".join(shown), TITLE))


def _line(text: str) -> Reply:
    return kit.reply(text, kit.context(text), audience=Audience.THREAD)
