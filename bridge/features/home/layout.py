"""The Home tab: the project, what can be done, and what its person did lately. https://docs.slack.dev/surfaces/app-home.

Long lists come in pages, of which the tab itself carries the numbers, so that it always stays far below Slack's
hundred blocks. What the service did not tell is left out, and the line about its health says why.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from bridge import words
from bridge.features.agents import asking
from bridge.features.reports.layout import delete_button
from bridge.features.stats.numbers import NUMBERS
from bridge.features.workflows import run_card as runs
from bridge.features.workflows.layout import DETAILS, FIND, facts_of
from bridge.project.models import Agent, Project, Stats, Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.lists import active_first, by_name, clamped
from bridge.slack.blockkit.reply import Block, View

PREVIOUS_WORKFLOWS: Final = "home:workflows:previous"
NEXT_WORKFLOWS: Final = "home:workflows:next"
PREVIOUS_AGENTS: Final = "home:agents:previous"
NEXT_AGENTS: Final = "home:agents:next"
TURN: Final = frozenset({PREVIOUS_WORKFLOWS, NEXT_WORKFLOWS, PREVIOUS_AGENTS, NEXT_AGENTS})
"""Buttons whose value is the `Spot` that they lead to."""

_WORKSPACE: Final = re.compile(r"https?://[A-Za-z0-9.:-]+/?")
_ID: Final = re.compile(r"[A-Z0-9]+")
_TS: Final = re.compile(r"\d+\.\d+")

WORKFLOWS_A_PAGE: Final = 12
AGENTS_A_PAGE: Final = 8
MOST_RECENT: Final = 5


class Spot(BaseModel):
    """Where somebody is in Home, which it carries as private_metadata: the pages, from 0, of its two lists.

    *channel* is the person's direct message with the bot.
    """

    model_config = ConfigDict(frozen=True)

    channel: str = ""
    workflows: int = 0
    agents: int = 0

    @classmethod
    def parse(cls, text: str) -> Spot:
        """Read what Home carried; it begins anew where it carried something else."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            return cls()


@dataclass(frozen=True, slots=True)
class RunShown:
    """A run of this person; its card is the message *ts* in *channel*, where there is one."""

    workflow: int
    name: str
    ended: str
    at: datetime
    channel: str = ""
    ts: str = ""


@dataclass(frozen=True, slots=True)
class TalkShown:
    """A conversation of this person with an *agent*, in the thread *ts* of a channel."""

    agent: str
    channel: str
    ts: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ReportShown:
    """A report that this person keeps: when it comes, in its own *words*, and where."""

    id: str
    words: str
    channel: str
    is_paused: bool = False


@dataclass(frozen=True, slots=True)
class Home:
    """All that the tab shows; None is what the service did not tell. *workspace* is its address in Slack."""

    project: Project | None
    stats: Stats | None
    workflows: Sequence[Workflow] | None
    agents: Sequence[Agent] | None
    runs: Sequence[RunShown] = ()
    talks: Sequence[TalkShown] = ()
    reports: Sequence[ReportShown] = ()
    may_run: bool = True
    workspace: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether the service told everything."""
        return None not in (self.project, self.stats, self.workflows, self.agents)


def home_view(home: Home, spot: Spot, version: str) -> View:
    """Draw the tab."""
    workflows, agents = list(home.workflows or ()), list(home.agents or ())
    spot = spot.model_copy(
        update={
            "workflows": clamped(spot.workflows, len(workflows), WORKFLOWS_A_PAGE),
            "agents": clamped(spot.agents, len(agents), AGENTS_A_PAGE),
        }
    )
    blocks = [
        *_project(home),
        kit.context(_health(home, version)),
        _first_steps(home),
        *_runs(home),
        *_talks(home),
        *_reports(home.reports),
        *_workflows(active_first(workflows), spot, may_run=home.may_run),
        *_agents(by_name(agents), spot),
    ]
    return _view(blocks, spot)


def refused_view(why: str) -> View:
    """Draw the tab for somebody who may not see more than why."""
    return _view([kit.section(why)], Spot())


def _view(blocks: Sequence[Block], spot: Spot) -> View:
    return {"type": "home", "private_metadata": spot.model_dump_json(), "blocks": list(blocks[: kit.VIEW_BLOCKS])}


def _project(home: Home) -> list[Block]:
    project, stats = home.project, home.stats
    name = kit.one_line(project.name, 140) if project else ""
    blocks = [kit.header(name or words.HOME)]
    if project and project.description.strip():
        blocks.append(kit.section(kit.cut(project.description, 600)))
    facts = (
        [(words.PROMPTS, f"{project.promptCount:,}"), (words.MEMBERS, f"{project.memberCount:,}")] if project else []
    )
    facts += [(one.title, f"{one.of(stats):,}") for one in NUMBERS if one.on_home] if stats else []
    return [*blocks, kit.fields(facts)] if facts else blocks


def _health(home: Home, version: str) -> str:
    health = words.EVERYTHING_WORKS if home.is_whole else words.SERVICE_LACKS
    return f"{health} {words.VERSION.format(version=version)}"


def _first_steps(home: Home) -> Block:
    run = [kit.button(words.RUN_A_WORKFLOW_ELLIPSIS, runs.FORM, "{}")] if home.may_run else []
    default = [kit.button(words.WHO_ANSWERS_ELLIPSIS, asking.OPEN_DEFAULT, "")] if home.may_run else []
    return kit.actions(*run, asking.ask_button(None, words.ASK_AN_AGENT_ELLIPSIS), *default)


def _runs(home: Home) -> list[Block]:
    if not home.runs:
        return []
    shown = [block for number, run in enumerate(home.runs[:MOST_RECENT]) for block in _run(number, run, home)]
    return [kit.header(words.YOUR_LAST_RUNS), *shown]


def _run(number: int, run: RunShown, home: Home) -> list[Block]:
    name = kit.words(kit.one_line(run.name, 100) or words.NO_NAME, bold=True)
    when = _moment(run.at, permalink(home.workspace, run.channel, run.ts))
    line = kit.rich(kit.paragraph(f"{runs.sign_of(run.ended)} ", name, f" · {kit.one_line(run.ended, 60)} · ", when))
    if not home.may_run:
        return [line]
    again = kit.actions(kit.button(words.RUN_AGAIN_ELLIPSIS, runs.FORM, runs.again_value(run.workflow)))
    return [line, again | {"block_id": f"recent:{number}"}]


def _talks(home: Home) -> list[Block]:
    if not home.talks:
        return []
    lines = [
        kit.paragraph(
            kit.words(kit.one_line(talk.agent, 80) or words.AN_AGENT, bold=True),
            *_place(talk.channel),
            " · ",
            _moment(talk.at, permalink(home.workspace, talk.channel, talk.ts)),
        )
        for talk in home.talks[:MOST_RECENT]
    ]
    return [kit.header(words.YOUR_CONVERSATIONS), kit.rich(kit.bullets(lines))]


def _place(channel: str) -> list[Block | str]:
    if channel.startswith("D"):
        return [f" {words.IN_DIRECT_MESSAGE}"]
    shown: Block = {"type": "channel", "channel_id": channel}
    return [" ", *kit.filled(words.IN_CHANNEL, channel=shown)] if _ID.fullmatch(channel) else []


def permalink(workspace: str, channel: str, ts: str) -> str:
    """Write the address of a message; nothing where what it is made of is not what it has to be."""
    if not (_WORKSPACE.fullmatch(workspace) and _ID.fullmatch(channel) and _TS.fullmatch(ts)):
        return ""
    return f"{workspace.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}"


def _moment(moment: datetime, url: str) -> Block:
    """Write a moment in the reader's own time zone, as a link where there is something to be seen."""
    shown: Block = {
        "type": "date", "timestamp": int(moment.timestamp()), "format": words.MOMENT,
        "fallback": words.DATE_AND_TIME.format(moment=moment),
    }  # fmt: skip
    return shown | ({"url": url} if url else {})


def _reports(reports: Sequence[ReportShown]) -> list[Block]:
    if not reports:
        return []
    shown = [block for report in reports[:MOST_RECENT] for block in _report(report)]
    return [kit.header(words.YOUR_REPORTS), *shown]


def _report(report: ReportShown) -> list[Block]:
    line = kit.paragraph(
        kit.words(kit.one_line(report.words, 100), bold=True),
        *_place(report.channel),
        f" · {words.PAUSED}" if report.is_paused else "",
    )
    delete = kit.actions(delete_button(report.words, f"home:{report.id}"))
    return [kit.rich(line), delete | {"block_id": f"report:{report.id}"}]


def _workflows(workflows: Sequence[Workflow], spot: Spot, *, may_run: bool) -> list[Block]:
    if not workflows:
        return []
    begin = spot.workflows * WORKFLOWS_A_PAGE
    blocks = [kit.header(words.HOW_MANY.format(title=words.WORKFLOWS, count=len(workflows)))]
    if len(workflows) > WORKFLOWS_A_PAGE:
        blocks.append(kit.actions(kit.external_select(FIND, words.FIND_A_WORKFLOW)))
    for workflow in workflows[begin : begin + WORKFLOWS_A_PAGE]:
        blocks += _workflow(workflow, may_run=may_run)
    pages = [spot.model_copy(update={"workflows": spot.workflows + step}) for step in (-1, 1)]
    has_more = begin + WORKFLOWS_A_PAGE < len(workflows)
    return blocks + _turns(pages, spot.workflows, has_more, PREVIOUS_WORKFLOWS, NEXT_WORKFLOWS)


def _workflow(workflow: Workflow, *, may_run: bool) -> list[Block]:
    name = kit.words(kit.one_line(workflow.name, 100) or words.NO_NAME, bold=True)
    run = [kit.button(words.RUN_ELLIPSIS, runs.FORM, runs.again_value(workflow.id))] if may_run else []
    buttons = kit.actions(*run, kit.button(words.DETAILS, DETAILS, str(workflow.id)))
    return [kit.rich(kit.paragraph(name, *facts_of(workflow))), buttons | {"block_id": f"workflow:{workflow.id}"}]


def _agents(agents: Sequence[Agent], spot: Spot) -> list[Block]:
    if not agents:
        return []
    begin = spot.agents * AGENTS_A_PAGE
    shown = [_agent(agent) for agent in agents[begin : begin + AGENTS_A_PAGE]]
    pages = [spot.model_copy(update={"agents": spot.agents + step}) for step in (-1, 1)]
    has_more = begin + AGENTS_A_PAGE < len(agents)
    turns = _turns(pages, spot.agents, has_more, PREVIOUS_AGENTS, NEXT_AGENTS)
    return [kit.header(words.HOW_MANY.format(title=words.AGENTS, count=len(agents))), *shown, *turns]


def _agent(agent: Agent) -> Block:
    about = kit.one_line(agent.description or agent.welcome_message or "", kit.DESCRIPTION)
    name = kit.one_line(agent.name, 100) or words.NO_NAME
    row: dict[str, Any] = kit.section(f"{name}\n{about}" if about else name)
    return row | {"block_id": f"agent:{agent.id}", "accessory": asking.ask_button(agent, words.CHAT)}


def _turns(pages: Sequence[Spot], page: int, has_more: bool, previous: str, following: str) -> list[Block]:  # noqa: FBT001 - a claim, in its place
    buttons = [kit.button(words.PREVIOUS, previous, pages[0].model_dump_json())] if page else []
    buttons += [kit.button(words.NEXT, following, pages[1].model_dump_json())] if has_more else []
    return [kit.actions(*buttons)] if buttons else []
