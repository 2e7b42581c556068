"""The form *Channel settings*: all settings of one channel."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from bridge.engine.forms import Form, Menu, MenuQuery, Select, Text, Ticks, Values
from bridge.engine.results import Modal
from bridge.features.buttons import CHOOSE_AN_AGENT, ID, OPEN_DEFAULT, agent_option, agents_to_choose
from bridge.features.channels.layout import FIXED, settings_title
from bridge.features.channels.settings import MOST_APPS, Fixed
from bridge.names.listing import is_part
from bridge.names.matching import search
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.lists import MenuChoices, names_apart
from bridge.slack.blockkit.modals import FormErrors, Origin
from bridge.slack.blockkit.reply import Block
from bridge.slack.senders import read_key

NO_AGENT: Final = "none"
APP: Final = "app:"
_START: Final = 60  # characters of a name in the option of what it starts
_NOBODY: Final = kit.option("No default agent", NO_AGENT)
_ANSWERS: Final = {"mentions": "Mentions only", "all": "Every top-level message"}
_REPLIES: Final = {
    "auto": "Replies of the person the agent is talking with",
    "all": "All replies",
    "mentions": "Replies that mention me",
}


@dataclass(frozen=True, slots=True)
class Filled:
    """A valid form: the *changes* of the agent's ID (or None), of *answers* and of *replies*."""

    changes: Mapping[str, Any]
    apps: Mapping[str, tuple[str, int] | None] = field(default_factory=dict)
    """By sender (`bridge.slack.senders`): ``agent`` or ``workflow`` and its ID, or None to ignore its messages."""
    project: str = ""
    edits: frozenset[str] = frozenset()
    """The senders whose edited posts run their workflow again."""
    blank: frozenset[str] = frozenset()
    """The senders for which nothing is chosen, not even to ignore them: a paused rule stays."""


class AppField(NamedTuple):
    """A sender in the form, and the *agent* or *workflow* of its rule; without a rule, both are None."""

    id: str
    name: str
    agent: Agent | None = None
    workflow: Workflow | None = None
    edits: bool = False
    is_paused: bool = False


async def default_agents(menu: MenuQuery) -> list[Block]:
    """Return options for the agents that match, and for no default agent."""
    options = await agents_to_choose(menu)
    if not menu.text.strip():
        options[:] = [_NOBODY, *options[: kit.OPTIONS - 1]]
    return options


async def starts_of_apps(menu: MenuQuery) -> list[Block]:
    """Return options for what an app's posts start: run a workflow, ask an agent, or ignore them."""
    agents = await menu.catalog.candidates("agent", menu.text)
    workflows = await menu.catalog.candidates("workflow", menu.text)
    starts: list[Workflow | Agent] = [*(workflow for workflow in workflows if workflow.is_active), *agents]
    options = [] if menu.text.strip() else [kit.option("Ignored", "nothing")]
    names = {Agent: names_apart(agents, _START), Workflow: names_apart(workflows, _START)}
    options += [_start_option(start, names[type(start)][start.id]) for start in search(menu.text, starts)]
    items = agents if is_part(agents) else workflows
    return MenuChoices(options[: kit.OPTIONS], items, "agents and workflow", len(options))


def _start_option(start: Workflow | Agent, name: str = "") -> Block:
    if isinstance(start, Workflow):
        return kit.option(f"Run {name or start.name}", f"workflow:{start.id}")
    return kit.option(f"Answered by {name or start.name}", f"agent:{start.id}")


class SettingsForm(Form):
    """The form; *app* is for each sender, by its key after the colon, and *other* for one that is typed.

    It leaves out what the operator's file sets, and in a direct message all but the agent and the project.
    """

    id, title, submit, opener, label = "default", "", "Save", OPEN_DEFAULT, "form: Channel settings"

    project = Select("Project", {}, hint="Another project resets the default agent and the rules for apps.")
    agent = Menu("Default agent", CHOOSE_AN_AGENT, default_agents, agent_option, nothing=_NOBODY)
    answers = Select("Messages to answer", _ANSWERS)
    replies = Select("Thread replies to answer", _REPLIES)
    app = Menu("Posts from this app", "Ignored", starts_of_apps, _start_option, is_optional=True, name=APP)
    other = Text(
        "Another app", longest=120, is_optional=True,
        hint="Its app ID, such as A0123456789. It's on the app's page in Slack.",
    )  # fmt: skip
    edits = Ticks(
        "Run the workflow again when a post is edited", {}, is_optional=True, hint="Agents always get edited posts."
    )

    @classmethod
    def _read(cls, values: Values) -> Filled | FormErrors:
        agent = values.get("agent", NO_AGENT if values else "")
        if agent != NO_AGENT and not ID.fullmatch(agent):
            return FormErrors({"agent": "Choose an agent from the list."})
        changes: dict[str, Any] = {"agent": None if agent == NO_AGENT else int(agent)} if "agent" in values else {}
        for name, choices in (("answers", _ANSWERS), ("replies", _REPLIES)):
            if value := values[name]:
                changes[name] = value
                if value not in choices:
                    return FormErrors({name: "Choose one from the list."})
        apps = {}
        for name, value in values.items():
            if name.startswith(APP):
                kind, _, id_ = value.partition(":")
                does = (kind, int(id_)) if kind in {"agent", "workflow"} and ID.fullmatch(id_) else None
                apps[name.removeprefix(APP)] = does
        does, other = apps.pop("", None), read_key(values["other"])
        if values["other"].strip() and not other:
            wrong = f"{kit.quoted(values['other'], 60)} isn't an app ID. Use one such as A0123456789."
            return FormErrors({"other": wrong})
        if bool(other) != (does is not None):
            return FormErrors({APP: "Choose what to do with its posts."} if other else {"other": "Enter the app's ID."})
        ticked = values["edits"].split(",")
        edits = {app for app in apps if _digest(app) in ticked} | ({other} if _digest("") in ticked else set())
        apps |= {other: does} if other else {}
        blank = frozenset(app for app in apps if not values[f"{APP}{app}"].strip())
        return Filled(changes, apps, values["project"], frozenset(edits), blank)


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
) -> Modal:
    """Open the form for the channel named *where*, with its current settings.

    *apps* have a rule there or posted there recently; others can be entered by ID. *projects* are the
    IDs and names of those to choose from, the current one first. What's *fixed* by the operator's file isn't offered.
    """
    form, apps = SettingsForm, apps[:MOST_APPS]
    blocks = [kit.section(f"Settings for {kit.named(where, 100)}")]
    if projects:
        blocks.append(
            replace(form.project, choices=dict(projects), placeholder="Choose a project").block(projects[0][0])
        )
    if fixed:
        blocks.append(kit.context(f"Set by your admin: {', '.join(FIXED[name] for name in sorted(fixed))}"))
    without = {"project", "app", "other", "edits", *fixed, *(("answers", "replies") if is_direct else ())}
    blocks += form.blocks(without=without, agent=agent, answers=answers, replies=replies)
    if not is_direct and "apps" not in fixed:
        for app in apps:
            posts = replace(form.app, name=f"{APP}{app.id}", label=f"Posts from {app.name}")
            start = app.workflow or app.agent
            if app.is_paused:  # it's set up again only if it's chosen again
                paused = f"⏸️ Paused: {_start_option(start)['text']['text']}" if start else "⏸️ Paused"
                posts, start = replace(posts, placeholder=paused), None
            blocks.append(posts.block(start))
        names = {_digest(app.id): app.name for app in apps} | {_digest(""): "The other app"}
        edits = replace(form.edits, choices=dict([*names.items()][:MOST_APPS]))
        ticked = {_digest(app.id) for app in apps if app.edits}
        blocks += [form.other.block(), form.app.block(), edits.block(ticked)]
    text, value = "Change this channel's settings?", origin.chosen[: kit.BUTTON_VALUE]
    return form.opened(origin, blocks, text, value, title=settings_title(where))


def _digest(app: str) -> str:
    """Return a short value for a sender, without the commas that a name may have."""
    return hashlib.sha256(app.encode()).hexdigest()[:16]
