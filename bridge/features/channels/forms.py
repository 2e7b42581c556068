"""The form *Channel settings*: all settings of one channel."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from bridge.features.buttons import ID, NO_FACES, OPEN_DEFAULT, agent_option, agent_options
from bridge.features.channels.layout import FIXED, settings_title
from bridge.features.channels.settings import MOST_APPS, Fixed
from bridge.names.listing import is_part
from bridge.names.matching import search
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.lists import MenuChoices
from bridge.slack.blockkit.modals import OPEN_THE_FORM, FormErrors, Origin, modal
from bridge.slack.blockkit.reply import Block, Reply, View
from bridge.slack.senders import read_key

DEFAULT: Final = "default"
"""The form's callback_id."""

AGENT: Final = "agent"
ANSWERS: Final = "answers"
REPLIES: Final = "replies"
PROJECT: Final = "project"
NO_AGENT: Final = "none"
APP: Final = "app:"
OTHER: Final = "other"
EDITS: Final = "edits"

_ANSWERS: Final = (kit.option("Mentions only", "mentions"), kit.option("Every top-level message", "all"))
_REPLIES: Final = (
    kit.option("Replies of the person the agent is talking with", "auto"),
    kit.option("All replies", "all"),
    kit.option("Replies that mention me", "mentions"),
)


@dataclass(frozen=True, slots=True)
class Filled:
    """A valid form: the *changes* of the agent's ID (or None), of *answers* and of *replies*.

    The form leaves out what the operator's file sets, and in a direct message all but the agent and the *project*.
    """

    changes: Mapping[str, Any]
    apps: Mapping[str, tuple[str, int] | None] = field(default_factory=dict)
    """By sender (`bridge.slack.senders`): ``agent`` or ``workflow`` and its ID, or None to ignore its messages."""
    project: str = ""
    edits: frozenset[str] = frozenset()
    """The senders whose edited posts run their workflow again."""


class AppField(NamedTuple):
    """A sender in the form, and the *agent* or *workflow* of its rule; without a rule, both are None."""

    id: str
    name: str
    agent: Agent | None = None
    workflow: Workflow | None = None
    edits: bool = False


def settings_form(
    origin: Origin,
    where: str,
    agent: Agent | None,
    *,
    answers: str,
    replies: str,
    is_direct: bool,
    fixed: Collection[Fixed] = (),
    apps: Sequence[AppField] = (),
    projects: Sequence[tuple[str, str]] = (),
) -> View:
    """Return the form for the channel named *where*, with its current settings.

    *apps* have a rule there or posted there recently; others can be entered by ID. *projects* are the
    IDs and names of those to choose from, the current one first. What's *fixed* by the operator's file isn't offered.
    """
    chosen = agent_option(agent) if agent else kit.option("No default agent", NO_AGENT)
    fields = [
        kit.section(f"Settings for {kit.named(where, 100)}"),
    ]
    if fixed:
        fields.append(kit.context(f"Set by your admin: {', '.join(FIXED[name] for name in sorted(fixed))}"))
    if AGENT not in fixed:
        menu = kit.external_select(AGENT, "Choose an agent", chosen)
        fields.append(kit.input_block(AGENT, "Default agent", menu))
    if projects:
        options = [kit.option(name, id_) for id_, name in projects]
        menu = kit.select(PROJECT, "Choose a project", options, options[0])
        hint = "Another project resets the default agent and the rules for apps."
        fields.insert(1, kit.input_block(PROJECT, "Project", menu, hint=hint))
    if not is_direct and ANSWERS not in fixed:
        fields.append(_choice(ANSWERS, "Messages to answer", _ANSWERS, answers))
    if not is_direct and REPLIES not in fixed:
        fields.append(_choice(REPLIES, "Thread replies to answer", _REPLIES, replies))
    if not is_direct and "apps" not in fixed:
        fields += [_app_field(f"{APP}{app.id}", f"Posts from {app.name}", _does(app)) for app in apps[:MOST_APPS]]
        other: Block = {"type": "plain_text_input", "action_id": OTHER, "max_length": 120}
        hint = "Its app ID, such as A0123456789. It's on the app's page in Slack."
        fields.append(kit.input_block(OTHER, "Another app", other, hint=hint, optional=True))
        fields.append(_app_field(APP, "Posts from this app"))
        fields += _edits(apps[:MOST_APPS])
    return modal(DEFAULT, settings_title(where), "Save", fields, origin)


def _app_field(name: str, label: str, initial: Block | None = None) -> Block:
    return kit.input_block(name, label, kit.external_select(name, "Ignored", initial), optional=True)


def _edits(apps: Sequence[AppField]) -> list[Block]:
    """Return the field for workflows that also run on edits; the app that is typed is offered if there's room."""
    offered = [(app, kit.option(kit.one_line(app.name, kit.OPTION_TEXT), _digest(app.id))) for app in apps]
    options = [*(option for _, option in offered), kit.option("The other app", _digest(""))][:MOST_APPS]
    box: Block = {"type": "checkboxes", "action_id": EDITS, "options": options}
    if chosen := [option for app, option in offered if app.edits]:
        box["initial_options"] = chosen
    hint = "Agents always get edited posts."
    return [kit.input_block(EDITS, "Run the workflow again when a post is edited", box, hint=hint, optional=True)]


def _digest(app: str) -> str:
    """Return a short value for a sender, without the commas that a name may have."""
    return hashlib.sha256(app.encode()).hexdigest()[:16]


def _does(app: AppField) -> Block | None:
    if app.workflow is not None:
        return _workflow_option(app.workflow)
    return _agent_option(app.agent) if app.agent is not None else None


def _agent_option(agent: Agent) -> Block:
    return kit.option(kit.one_line(f"Answered by {agent.name}", kit.OPTION_TEXT), f"agent:{agent.id}")


def _workflow_option(workflow: Workflow) -> Block:
    return kit.option(kit.one_line(f"Run {workflow.name}", kit.OPTION_TEXT), f"workflow:{workflow.id}")


def _choice(name: str, label: str, options: Sequence[Block], value: str) -> Block:
    initial = next((option for option in options if option["value"] == value), None)
    return kit.input_block(name, label, kit.select(name, "Choose", options, initial))


def read_settings_form(values: Mapping[str, Any]) -> Filled | FormErrors:
    """Parse the result of `bridge.slack.blockkit.modals.form_values`, perhaps from another version's form."""
    agent = str(values.get(AGENT, NO_AGENT if values else "") or "")
    if agent != NO_AGENT and not ID.fullmatch(agent):
        return FormErrors({AGENT: "Choose an agent from the list."})
    changes: dict[str, Any] = {AGENT: None if agent == NO_AGENT else int(agent)} if AGENT in values else {}
    for name, options in ((ANSWERS, _ANSWERS), (REPLIES, _REPLIES)):
        if value := str(values.get(name) or ""):
            changes[name] = value
            if all(option["value"] != value for option in options):
                return FormErrors({name: "Choose one from the list."})
    chosen = {name.removeprefix(APP): str(does or "") for name, does in values.items() if name.startswith(APP)}
    apps = {}
    for app, (kind, _, id_) in ((app, does.partition(":")) for app, does in chosen.items()):
        apps[app] = (kind, int(id_)) if kind in {"agent", "workflow"} and ID.fullmatch(id_) else None
    typed = str(values.get(OTHER) or "")
    does, other = apps.pop("", None), read_key(typed)
    if typed.strip() and not other:
        return FormErrors({OTHER: f"{kit.quoted(typed, 60)} isn't an app ID. Use one such as A0123456789."})
    if bool(other) != (does is not None):
        return FormErrors({APP: "Choose what to do with its posts."} if other else {OTHER: "Enter the app's ID."})
    ticked = set(str(values.get(EDITS) or "").split(","))
    edits = {app for app in apps if _digest(app) in ticked} | ({other} if _digest("") in ticked else set())
    apps |= {other: does} if other else {}
    return Filled(changes, apps, str(values.get(PROJECT) or ""), frozenset(edits))


def agent_choices(agents: Sequence[Agent], query: str, faces: Mapping[int, str] = NO_FACES) -> list[Block]:
    """Return options for the agents that match *query*, with their *faces*, and for no default agent."""
    found = agent_options(agents, query, faces=faces)
    if not query.strip():
        found[:] = [kit.option("No default agent", NO_AGENT), *found[: kit.OPTIONS - 1]]
    return found


def app_choices(agents: Sequence[Agent], workflows: Sequence[Workflow], query: str) -> list[Block]:
    """Return options for an app's messages: run a workflow, ask an agent, or ignore them."""
    starts: list[Workflow | Agent] = [*(one for one in workflows if one.is_active), *agents]
    found = [] if query.strip() else [kit.option("Ignored", "nothing")]
    found += [_agent_option(one) if isinstance(one, Agent) else _workflow_option(one) for one in search(query, starts)]
    return MenuChoices(
        found[: kit.OPTIONS], agents if is_part(agents) else workflows, "agents and workflow", len(found)
    )


def offer_settings_form(channel: str) -> Reply:
    """Offer the form with a button, for when it couldn't be opened."""
    return kit.ask(
        "Change this channel's settings?", kit.button(OPEN_THE_FORM, OPEN_DEFAULT, channel[: kit.BUTTON_VALUE])
    )
