"""Buttons and menus that several features show, handled by the feature that registers their action ID."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from bridge.config_tables import Act
from bridge.engine.forms import Check, Menu, MenuQuery
from bridge.errors import ControlNotUnderstood
from bridge.ids import ThreadKey, TurnId
from bridge.names.matching import namesakes, search
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.json_text import compact
from bridge.slack.blockkit.lists import MenuChoices, active_first, by_name
from bridge.slack.blockkit.reply import Block

RUN_FORM: Final = "run:form"
"""The button opens the form that runs a workflow; its value is a `run_value`."""

DETAILS: Final = "workflow:details"
"""The button shows one workflow; its value is the ID."""

FIND: Final = "workflow:find"
"""A searchable menu that shows the chosen workflow."""

OPEN_ASK: Final = "ask:form"
"""The button opens the form that asks an agent; its value may be the agent's ID."""

ASK_ABOUT: Final = "ask:about"
"""The button opens the form that asks an agent about a text, which is its value."""

STATISTICS: Final = "stats:show"
"""The button shows the statistics."""

ALERT_FORM: Final = "alert:form"
"""The button opens the form that sets up an alert."""

OPEN_DEFAULT: Final = "default:form"
"""Opens the form *Channel settings* for the channel in the value, or else the button's channel."""

SET_DEFAULT: Final = "default:set"
"""The button makes the agent whose ID is its value the default of the channel it's in."""

REPORT_FORM: Final = "report:form"
"""The button opens the form that schedules a report."""

QUESTION_FORM: Final = "schedule:question"
"""The button opens the form that schedules a question; its value may be the agent's ID."""

RUN_SCHEDULE_FORM: Final = "schedule:run"
"""The button opens the form that schedules runs; its value may be the workflow's ID."""

FEEDBACK: Final = "answer:feedback"
"""A person's vote on an agent's answer."""

CHOOSE_FOR: Final = "home:choose"
"""Home's menu that chooses the agent of a thread; the values of its options are from `choice_for`."""

AGAIN: Final = "home:again"
"""Home's button that repeats a turn; its value is the turn, and the channel, ``ts`` and thread of its notice."""

OPEN_IN_PROJECT: Final = "Open in the project"
"""The text of links to the project's own pages."""

NO_FACES: Final[Mapping[int, str]] = MappingProxyType({})
"""The agents' faces by ID, where none are shown."""

NO_NEEDS: Final[Mapping[int, str]] = MappingProxyType({})
"""What has to happen before workflows run, by ID, where nothing has to."""

CHOOSE_AN_AGENT: Final = "Choose an agent"

ID: Final = re.compile(r"-?[0-9]{1,1000}")
"""An ID of the service in a button, menu or field."""

_ABOUT: Final = 1000

_GOOD, _BAD = ({"text": kit.plain(text), "accessibility_label": text} for text in ("Good answer", "Bad answer"))


def run_value(workflow: int, *typed: Any) -> str:
    """Return the value of a button that runs a workflow, with the input if there's room."""
    with_input = compact({"w": workflow, "i": typed[0]}) if typed else ""
    return with_input if 0 < len(with_input) <= kit.BUTTON_VALUE else compact({"w": workflow})


def id_of(value: str) -> int:
    """Return the ID in the *value* of a button, menu or field. Raises `ControlNotUnderstood`."""
    if not ID.fullmatch(value):
        raise ControlNotUnderstood(value)
    return int(value)


def run_button() -> Block:
    """Return a button that opens the form to run a workflow."""
    return kit.button("Run a workflow…", RUN_FORM, compact({}))


def settings_button() -> Block:
    """Return a button that opens the settings of the channel it's in."""
    return kit.button("Change settings…", OPEN_DEFAULT, "")


def ask_button(agent: Agent | None, label: str, *, about: str = "") -> Block:
    """Return a button that opens the form to ask an agent, which is called *about* if not by its name alone."""
    return kit.button(label, OPEN_ASK, str(agent.id) if agent else "", about=about or (agent.name if agent else ""))


def channel_choice() -> Block:
    """Return the menu that opens the settings of the chosen channel.

    https://docs.slack.dev/reference/block-kit/block-elements/select-menu-element#conversations_select
    """
    return {
        "type": "conversations_select", "action_id": OPEN_DEFAULT, "filter": {"include": ["public", "private", "mpim"]},
        "placeholder": kit.plain("Channel settings…", kit.PLACEHOLDER),
    }  # fmt: skip


def agent_options(agents: Sequence[Agent], query: str = "", *, faces: Mapping[int, str] = NO_FACES) -> list[Block]:
    """Return options for the agents that match *query*, best match first, with their *faces*."""
    hits = search(query, by_name(agents))
    shared = namesakes(agents, kit.OPTION_TEXT)
    options = [
        agent_option(agent, faces.get(agent.id, ""), has_namesake=agent.id in shared) for agent in hits[: kit.OPTIONS]
    ]
    return MenuChoices(options, agents, "agent", len(hits))


def agent_option(agent: Agent, face: str = "", *, has_namesake: bool = False) -> Block:
    """Return the option for *agent*, with its description, and its ID if it *has_namesake*."""
    mark = f" (ID {agent.id})" if has_namesake else ""
    name = kit.one_line(kit.with_face(face, agent.name), kit.OPTION_TEXT - len(mark)) + mark
    return kit.option(name, str(agent.id), about=agent.description or "")


async def agents_to_choose(menu: MenuQuery) -> list[Block]:
    """Return options for the agents that match what a menu is asked for."""
    agents = await menu.catalog.candidates("agent", menu.text)
    return agent_options(agents, menu.text, faces=menu.faces(agents))


def agent_menu(act: Act | None = None) -> Menu[Agent]:
    """Return a form's field in which an agent is chosen, to do *act* with it."""
    return Menu("Agent", CHOOSE_AN_AGENT, agents_to_choose, agent_option, act=act, check=_id_of("an agent"))


def _id_of(noun: str) -> Check:
    return lambda value, _values: "" if ID.fullmatch(value.strip()) else f"Choose {noun} from the list."


def choice_for(agent: str, thread: ThreadKey) -> str:
    """Return the value of the option that chooses *agent* (its ID) for a *thread*."""
    return f"{agent}:{thread}"


def chosen_for(value: str) -> tuple[int, ThreadKey]:
    """Return what `choice_for` was given. Raises `ControlNotUnderstood`."""
    agent, _, thread = value.partition(":")
    try:
        return id_of(agent), ThreadKey.parse(thread)
    except ValueError as exc:
        raise ControlNotUnderstood(value) from exc


def workflow_options(workflows: Sequence[Workflow], query: str) -> list[Block]:
    """Return options for the workflows that match *query*, best match first."""
    hits = search(query, active_first(workflows))
    shared = namesakes(workflows, kit.OPTION_TEXT)
    options = [workflow_option(workflow, has_namesake=workflow.id in shared) for workflow in hits[: kit.OPTIONS]]
    return MenuChoices(options, workflows, "workflow", len(hits))


def workflow_option(workflow: Workflow, *, has_namesake: bool = False) -> Block:
    """Return the option for *workflow*, with its description, and its ID if it *has_namesake*."""
    mark = f" (ID {workflow.id})" if has_namesake else ""
    mark += "" if workflow.is_active else " (inactive)"
    name = kit.one_line(workflow.name, kit.OPTION_TEXT - len(mark)) + mark
    return kit.option(name, str(workflow.id), about=workflow.description or "")


async def workflows_to_choose(menu: MenuQuery) -> list[Block]:
    """Return options for the workflows that match what a menu is asked for."""
    return workflow_options(await menu.catalog.candidates("workflow", menu.text), menu.text)


def workflow_menu() -> Menu[Workflow]:
    """Return a form's field in which a workflow is chosen, to run it, with what its description says."""
    return Menu(
        "Workflow", "Choose a workflow", workflows_to_choose, workflow_option, act="run", hint=_about,
        check=_id_of("a workflow"),
    )  # fmt: skip


def _about(workflow: Workflow | None) -> str:
    about = kit.one_line(workflow.description or "", _ABOUT) if workflow else ""
    return f"{kit.named(workflow.name, 80)}: {about}" if workflow and about else ""  # another may be chosen


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer a vote is about: its *turn*, *agent* and *session*."""

    turn: TurnId
    agent: int
    session: int | None


def feedback_buttons(of: Answered) -> Block:
    """Return Slack's pair of feedback buttons for an answer.

    https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element
    """
    which = f"{of.turn}:{of.agent}:{'' if of.session is None else of.session}"
    buttons = {
        "type": "feedback_buttons",
        "action_id": FEEDBACK,
        "positive_button": {**_GOOD, "value": f"up:{which}"},
        "negative_button": {**_BAD, "value": f"down:{which}"},
    }
    return {"type": "context_actions", "elements": [buttons]}
