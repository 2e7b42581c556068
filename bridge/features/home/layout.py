"""The Home tab: what needs the person, what they and the agents do, and what can be done. One screen, if that's little.

Lists are short, so that the tab stays far below Slack's limit of a hundred blocks. Data that the service
didn't return is left out, and the first line says so. https://docs.slack.dev/surfaces/app-home
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from bridge.ends import notices
from bridge.engine.home import Need
from bridge.engine.projects import OF_DIRECT
from bridge.features.buttons import (
    AGAIN,
    CHOOSE_AN_AGENT,
    CHOOSE_FOR,
    FIND,
    RUN_FORM,
    agent_options,
    ask_button,
    channel_choice,
    choice_for,
    run_value,
)
from bridge.features.home.recent import RecentActivity, RecentConversation, RecentRun, Unsettled
from bridge.features.run_status import status_icon
from bridge.ids import ThreadKey
from bridge.project.models import Agent, Stats
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.json_text import compact
from bridge.slack.blockkit.lists import by_name, names_apart, part_note
from bridge.slack.blockkit.modals import Origin
from bridge.slack.blockkit.reply import Block, View

MOST_AGENTS: Final = 10
MOST_RECENT: Final = 5
MOST_NEEDS: Final = 8
_NEED_BLOCKS: Final = 3
_FAILED_FOR: Final = timedelta(days=3)
_ABOUT: Final = 80
_NAME: Final = 100
_STATES: Final = {
    "working": "⏳ waiting for an answer",
    "choosing": "❓ waiting for an agent",
    "stopped": "⏸️ stopped",
    "muted": "🔇 muted",
    "answered": "✅ answered",
    "": "",
}
_RUNNING: Final = "running"


@dataclass(frozen=True, slots=True)
class Home:
    """The tab's data; None if the service didn't return it. *workspace* is the workspace's address in Slack.

    *words* are the first words of threads, *faces* the agents' by ID, *needs* and *of_features* what features add, and
    *numbers* the line about the statistics. *projects* are the IDs and names of all projects if there are several, and
    *chosen* is this one's ID. The service *is_down*: messages are queued.
    """

    agents: Sequence[Agent] | None
    stats: Stats | None
    now: datetime
    recent: RecentActivity = field(default_factory=RecentActivity)
    words: Mapping[ThreadKey, str] = field(default_factory=dict)
    needs: Sequence[Need] = ()
    of_features: Sequence[Sequence[Block]] = ()
    numbers: Sequence[Block] = ()
    may_run: bool = True
    may_not_run: Collection[int] = ()  # workflows of recent runs
    may_set: bool = True
    workspace: str = ""
    faces: Mapping[int, str] = field(default_factory=dict)
    projects: Sequence[tuple[str, str]] = ()
    chosen: str = ""
    is_down: bool = False

    def named(self, agent: int | None, names: Mapping[int, str]) -> str:
        """Return an agent's name, from *names* by ID, with its face."""
        if agent is None or agent not in names:
            return "" if agent is None else f"Agent {agent}"
        return kit.with_face(self.faces.get(agent, ""), names[agent] or kit.NO_NAME)


def home_view(home: Home, channel: str) -> View:
    """Return the tab; what's pressed there belongs to the *channel* of the person's direct messages."""
    run = [kit.button("Run a workflow…", RUN_FORM, "{}")] if home.may_run else []
    find = [kit.external_select(FIND, "Show a workflow")] if home.agents is not None else []
    default = [channel_choice()] if home.may_set else []
    blocks = list[Block]()
    if home.is_down or (home.agents is None and home.stats is None):
        every = "⚠️ The project service is unavailable right now. Messages are queued until it's back."
        blocks.append(kit.section(every))
    elif home.agents is None or home.stats is None:
        blocks.append(kit.section("⚠️ Some information is unavailable right now."))
    if projects := [kit.option(name, id_) for id_, name in home.projects]:
        chosen = next((option for option in projects if option["value"] == home.chosen), None)
        blocks.append(kit.context("The project of this page, and of your direct messages to me"))
        blocks.append(kit.actions(kit.select(OF_DIRECT, "Choose a project", projects, chosen)))
    blocks += [*_needs(home), kit.actions(ask_button(None, "Ask an agent…"), *run, *find, *default)]
    note = part_note(home.agents, "agent") if home.agents else None
    listed = _agents(home) + ([note] if note else [])
    sections = [_conversations(home), _runs(home), *home.of_features, listed, home.numbers]
    for section in filter(None, sections):
        blocks += section
    return _view(blocks, channel)


def refused_view(why: str) -> View:
    """Return the tab for a person without access: only the reason."""
    return _view([kit.section(why)], "")


def _view(blocks: Sequence[Block], channel: str) -> View:
    room, shown = kit.VIEW_BYTES, list[Block]()
    for block in blocks[: kit.VIEW_BLOCKS]:
        room -= len(compact(block).encode(errors="replace"))
        if room < 0:
            break
        shown.append(block)
    origin = Origin(channel=channel).model_dump_json(exclude_defaults=True)
    return {"type": "home", "private_metadata": origin, "blocks": shown}


def _needs(home: Home) -> list[Block]:
    """Return what waits for the person, the newest first."""
    conversations = [
        _choice(home, conversation) for conversation in home.recent.conversations if conversation.state == "choosing"
    ]
    unsettled = [_open(home, work) for work in home.recent.unsettled if work.state != _RUNNING]
    failed = []
    for run in _failed_runs(home):
        may_run = home.may_run and run.workflow not in home.may_not_run
        again = kit.button("Run again…", RUN_FORM, run_value(run.workflow), about=run.name) if may_run else None
        text = f"{status_icon(run.ended)} {_named(run.name)} · {kit.one_line(run.ended, 60)}"
        row = kit.row(text, again, run.at, kit.permalink(home.workspace, run.channel, run.ts))
        failed.append(Need(run.at, (row,)))
    needs = sorted([*home.needs, *conversations, *unsettled, *failed], key=lambda need: need.at, reverse=True)
    blocks = [kit.header("Needs you")] if needs else []
    for need in needs[:MOST_NEEDS]:
        blocks += need.blocks[:_NEED_BLOCKS]
    left = len(needs) - MOST_NEEDS
    return [*blocks, kit.context(f"And {left:,} more, which are older.")] if left > 0 else blocks


def _choice(home: Home, conversation: RecentConversation) -> Need:
    """Return the menu that chooses the agent of a thread; too many for a menu are chosen in the thread."""
    agents, words = home.agents or (), home.words.get(conversation.thread, "")
    menu = None
    if 0 < len(agents) <= kit.OPTIONS:
        options = [
            {**option, "value": choice_for(option["value"], conversation.thread)}
            for option in agent_options(agents, faces=home.faces)
        ]
        menu = kit.select(CHOOSE_FOR, CHOOSE_AN_AGENT, options)
    url = kit.permalink(home.workspace, conversation.thread.channel, conversation.thread.root)
    text = f"❓ Pick an agent for {kit.quoted(words, _ABOUT) if words else 'your message'}"
    return Need(conversation.at, (kit.row(text, menu, conversation.at, url),))


def _open(home: Home, work: Unsettled) -> Need:
    """Return a message or command that the person may repeat, and what's known about it."""
    url = kit.permalink(home.workspace, work.channel, work.thread or work.ts)
    called = kit.quoted(work.text, _ABOUT) if work.text else kit.one_line(work.name, _ABOUT) or "your message"
    text, notice = f"⚠️ I couldn't finish {called}", ""
    if work.state == "unknown":
        text, notice = (
            f"⚠️ No answer came back to {called}, which may have arrived",
            f":{work.channel}:{work.ts}:{work.thread}",
        )
    label = "Try again" if work.name else notices.SEND_IT_AGAIN
    again = kit.button(label, AGAIN, f"{work.turn}{notice}", about=work.name or work.text)
    return Need(work.at, (kit.row(text, again, work.at, url),))


def _failed_runs(home: Home) -> list[RecentRun]:
    """Return the failed runs of the last days, unless the person has run the same workflow since."""
    failed, seen = [], set[int]()
    for run in home.recent.runs:
        icon = status_icon(run.ended)
        if run.workflow not in seen and icon in {"❌", "⚠️"} and home.now - run.at < _FAILED_FOR:
            failed.append(run)
        seen.add(run.workflow)
    return failed


def _conversations(home: Home) -> list[Block]:
    unknown = {work.thread for work in home.recent.unsettled if work.state == "unknown" and work.thread}
    lines, names = [], names_apart(home.agents or (), _ABOUT)
    for conversation in home.recent.conversations[:MOST_RECENT]:
        agent, thread = home.named(conversation.agent, names), conversation.thread
        state = _STATES[conversation.state]
        if conversation.state in {"answered", ""} and thread.root in unknown:
            state = "⚠️ no answer"
        who: list[Block | str] = [kit.words(agent, bold=True), " · "] if agent else []
        place = "a direct message" if thread.channel.startswith("D") else "a thread"
        url = kit.permalink(home.workspace, thread.channel, thread.root)
        words = _linked(home.words.get(thread, "") or place, url)
        lines.append(kit.paragraph(*who, words, f" · {state}" if state else ""))
    return [kit.header("Your threads"), kit.rich(kit.bullets(lines))] if lines else []


def _runs(home: Home) -> list[Block]:
    running = [work for work in home.recent.unsettled if work.state == _RUNNING]
    lines = [
        kit.paragraph(
            "⏳ ",
            _linked(_named(work.name), kit.permalink(home.workspace, work.channel, work.ts, work.thread)),
            " · running since ",
            kit.date(work.at),
        )
        for work in running
    ]
    failed = _failed_runs(home)  # they're above
    for run in home.recent.runs:
        if run not in failed:
            link = kit.date(run.at, kit.permalink(home.workspace, run.channel, run.ts))
            name, ended = kit.words(_named(run.name), bold=True), kit.one_line(run.ended, 60)
            lines.append(kit.paragraph(f"{status_icon(run.ended)} ", name, f" · {ended} · ", link))
    return [kit.header("Your runs"), kit.rich(kit.bullets(lines[:MOST_RECENT]))] if lines else []


def _agents(home: Home) -> list[Block]:
    agents, names = by_name(home.agents or ()), names_apart(home.agents or (), _NAME)
    blocks = [kit.header("Agents")] if agents else []
    for agent in agents[:MOST_AGENTS]:
        about = kit.one_line(agent.description or agent.welcome_message or "", _ABOUT)
        name = home.named(agent.id, names)
        text = f"{name}: {about}" if about else name
        ask = ask_button(agent, "Ask…", about=names[agent.id])
        blocks.append(kit.row(text, ask) | {"block_id": f"agent:{agent.id}"})
    more = len(agents) - MOST_AGENTS
    return (
        [*blocks, kit.context(f"And {more:,} more: {kit.command('/agents')} lists them all.")] if more > 0 else blocks
    )


def _linked(text: str, url: str) -> Block:
    return {"type": "link", "url": url, "text": kit.clean(text)} if url else kit.words(text)


def _named(name: str) -> str:
    return kit.one_line(name, _NAME) or kit.NO_NAME
