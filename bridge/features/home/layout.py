"""The Home tab: the project, the main actions, and the person's recent activity. https://docs.slack.dev/surfaces/app-home.

Long lists have pages, so that the tab stays far below Slack's limit of a hundred blocks; their numbers are in its
private_metadata. Data that the service didn't return is left out, and the health line says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bridge.engine.projects import OF_DIRECT
from bridge.engine.recent import RecentConversation, RecentRun
from bridge.features.buttons import DETAILS, FIND, RUN_FORM, ask_button, channel_choice, run_value
from bridge.features.home.pages import HomePages
from bridge.features.run_status import status_icon
from bridge.features.statistics.numbers import NUMBERS
from bridge.project.models import Agent, Project, Stats, Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.lists import active_first, by_name, clamped, facts_of
from bridge.slack.blockkit.reply import Block, View

PREVIOUS_WORKFLOWS: Final = "home:workflows:previous"
NEXT_WORKFLOWS: Final = "home:workflows:next"
PREVIOUS_AGENTS: Final = "home:agents:previous"
NEXT_AGENTS: Final = "home:agents:next"
"""Buttons that turn a list's pages; their value is the `HomePages` to show."""

_ID: Final = re.compile(r"[A-Z0-9]+")

WORKFLOWS_A_PAGE: Final = 12
AGENTS_A_PAGE: Final = 8
MOST_RECENT: Final = 5


@dataclass(frozen=True, slots=True)
class Home:
    """The tab's data; None if the service didn't return it. *workspace* is the workspace's address in Slack.

    *faces* are the agents' by ID. *projects* are the IDs and names of all projects if there are several, and *chosen*
    is this one's ID.
    """

    project: Project | None
    stats: Stats | None
    workflows: Sequence[Workflow] | None
    agents: Sequence[Agent] | None
    runs: Sequence[RecentRun] = ()
    conversations: Sequence[RecentConversation] = ()
    of_features: Sequence[Block] = ()
    may_run: bool = True
    workspace: str = ""
    faces: Mapping[int, str] = field(default_factory=dict)
    projects: Sequence[tuple[str, str]] = ()
    chosen: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the service answered every request."""
        return None not in (self.project, self.stats, self.workflows, self.agents)


def home_view(home: Home, pages: HomePages, version: str) -> View:
    """Return the tab."""
    workflows, agents = active_first(home.workflows or ()), by_name(home.agents or ())
    pages = pages.model_copy(
        update={
            "workflows": clamped(pages.workflows, len(workflows), WORKFLOWS_A_PAGE),
            "agents": clamped(pages.agents, len(agents), AGENTS_A_PAGE),
        }
    )
    health = "✅ All systems are working."
    if not home.is_whole:
        is_all = (home.project, home.stats, home.workflows, home.agents) == (None,) * 4
        health = "⚠️ Some information is unavailable right now."
        if is_all:
            health = "⚠️ The project service is unavailable right now. Messages are queued until it's back."
    run = [kit.button("Run a workflow…", RUN_FORM, "{}")] if home.may_run else []
    default = [channel_choice()] if home.may_run else []
    blocks = [
        *_project(home.project, home.stats),
        *_projects(home),
        kit.context(health, f"Bridge {version}"),
        kit.actions(*run, ask_button(None, "Ask an agent…"), *default),
    ]
    sections: list[Sequence[Block]] = [_runs(home), _conversations(home), home.of_features]
    sections += [_agents(agents, pages, home.faces), _workflows(workflows, pages, may_run=home.may_run)]
    for section in filter(None, sections):
        blocks += [kit.divider(), *section]
    return _view(blocks, pages)


def refused_view(why: str) -> View:
    """Return the tab for a person without access: only the reason."""
    return _view([kit.section(why)], HomePages())


def _view(blocks: Sequence[Block], pages: HomePages) -> View:
    return {"type": "home", "private_metadata": pages.model_dump_json(), "blocks": list(blocks[: kit.VIEW_BLOCKS])}


def _project(project: Project | None, stats: Stats | None) -> list[Block]:
    blocks = [kit.header((kit.one_line(project.name, 140) if project else "") or "Home")]
    facts: list[tuple[str, str | None]] = []
    if project:
        facts += [("Prompts", kit.grouped(project.promptCount)), ("Members", kit.grouped(project.memberCount))]
        if project.description.strip():
            blocks.append(kit.section(kit.cut(project.description, 600)))
    if stats:
        facts += [(number.title, kit.grouped(number.of(stats))) for number in NUMBERS if number.on_home]
    return [*blocks, kit.columns(facts)] if any(value is not None for _title, value in facts) else blocks


def _projects(home: Home) -> list[Block]:
    """Return the menu that chooses the project of Home and of direct messages, if there are several."""
    options = [kit.option(name, id_) for id_, name in home.projects]
    chosen = next((option for option in options if option["value"] == home.chosen), None)
    menu = kit.actions(kit.select(OF_DIRECT, "Choose a project", options, chosen))
    return [kit.context("The project of this page, and of your direct messages to me"), menu] if options else []


def _runs(home: Home) -> list[Block]:
    blocks = [kit.header("Your recent runs")] if home.runs else []
    for number, run in enumerate(home.runs[:MOST_RECENT]):
        url = kit.permalink(home.workspace, run.channel, run.ts)
        text = f"{status_icon(run.ended)} {_named(run.name)} · {kit.one_line(run.ended, 60)}"
        again = kit.button("Run again…", RUN_FORM, run_value(run.workflow), about=run.name) if home.may_run else None
        blocks.append(kit.row(text, again, run.at, url) | {"block_id": f"recent:{number}"})
    return blocks


def _conversations(home: Home) -> list[Block]:
    names: dict[int | None, str] = {agent.id: agent.name for agent in home.agents or ()}
    lines = []
    for one in home.conversations[:MOST_RECENT]:
        name = kit.one_line(names.get(one.agent, ""), 80) or "Conversation"
        face = home.faces.get(one.agent, "") if one.agent is not None else ""
        agent = kit.words(kit.with_face(face, name), bold=True)
        when = kit.date(one.at, kit.permalink(home.workspace, one.thread.channel, one.thread.root))
        lines.append(kit.paragraph(agent, *_place(one.thread.channel), " · ", when))
    return [kit.header("Your recent conversations"), kit.rich(kit.bullets(lines))] if lines else []


def _workflows(workflows: Sequence[Workflow], pages: HomePages, *, may_run: bool) -> list[Block]:
    blocks = [kit.header(f"Workflows ({len(workflows):,})")] if workflows else []
    begin = pages.workflows * WORKFLOWS_A_PAGE
    if workflows:
        blocks.append(kit.actions(kit.external_select(FIND, "Show a workflow")))
    for workflow in workflows[begin : begin + WORKFLOWS_A_PAGE]:
        button = kit.button("Details", DETAILS, str(workflow.id), about=workflow.name)
        if may_run:
            button = kit.button("Run…", RUN_FORM, run_value(workflow.id), about=workflow.name)
        facts = (one if isinstance(one, str) else str(one["text"]) for one in facts_of(workflow))
        text = f"{_named(workflow.name)}{''.join(facts)}"
        blocks.append(kit.row(text, button) | {"block_id": f"workflow:{workflow.id}"})
    has_more = begin + WORKFLOWS_A_PAGE < len(workflows)
    return blocks + _turns("workflows", pages, PREVIOUS_WORKFLOWS, NEXT_WORKFLOWS if has_more else "")


def _agents(agents: Sequence[Agent], pages: HomePages, faces: Mapping[int, str]) -> list[Block]:
    blocks = [kit.header(f"Agents ({len(agents):,})")] if agents else []
    begin = pages.agents * AGENTS_A_PAGE
    for agent in agents[begin : begin + AGENTS_A_PAGE]:
        about = kit.one_line(agent.description or agent.welcome_message or "", kit.DESCRIPTION)
        name = kit.with_face(faces.get(agent.id, ""), _named(agent.name))
        text = f"{name}\n{about}" if about else name
        blocks.append(kit.row(text, ask_button(agent, "Ask…")) | {"block_id": f"agent:{agent.id}"})
    has_more = begin + AGENTS_A_PAGE < len(agents)
    return blocks + _turns("agents", pages, PREVIOUS_AGENTS, NEXT_AGENTS if has_more else "")


def _turns(listed: str, pages: HomePages, previous: str, following: str) -> list[Block]:
    """Return the buttons that turn a list's pages; *following* is the action ID of Next, ``""`` on the last page."""
    page = int(getattr(pages, listed))
    turns = [("Previous", previous, page - 1)] if page else []
    turns += [("Next", following, page + 1)] if following else []
    buttons = [
        kit.button(name, id_, pages.model_copy(update={listed: to}).model_dump_json()) for name, id_, to in turns
    ]
    return [kit.actions(*buttons)] if buttons else []


def _named(name: str) -> str:
    return kit.one_line(name, 100) or kit.NO_NAME


def _place(channel: str) -> list[Block | str]:
    if channel.startswith("D"):
        return [" in a direct message"]
    return [" in ", {"type": "channel", "channel_id": channel}] if _ID.fullmatch(channel) else []
