"""A thread's commands (stop, mute, new, agent, session), the greeting, and who waits for an answer.

The other buttons of conversations are in `buttons`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bridge.ends import notices
from bridge.engine.results import Done, Outcome, Result, shown
from bridge.engine.turn import Turn
from bridge.errors import ProjectError
from bridge.features.buttons import ID, id_of
from bridge.features.conversations import layout
from bridge.features.conversations.answering import answer, default_of, unknown_answer
from bridge.features.conversations.buttons import (
    check_may_ask,
    conversations as conversations,  # noqa: PLC0414 - complete here
)
from bridge.features.conversations.records import AnswerShown, Greeted
from bridge.features.conversations.stopping import stopped
from bridge.features.deps import Deps
from bridge.features.lookups import agent_name
from bridge.features.waiters import add_waiter, notify_waiters
from bridge.ids import InProject, ThreadKey, TurnId
from bridge.inbound import Click, InboundMessage, MessagesTabOpened, StopRequest
from bridge.names.folding import id_key, name_key
from bridge.project.models import Agent
from bridge.queue.finished_turns import FinishedTurn, named
from bridge.queue.writes import Write
from bridge.slack.blockkit.reply import Audience
from bridge.slack.payloads import text

conversations.outcome_unknown(has_note=False)(unknown_answer)


conversations.kind(InboundMessage)(answer)


conversations.outcomes |= {
    "menu": "asked which agent",
    layout.ANSWERED: "notified: the answer is there",
    "prompts": "suggestions shown",
    "stop: queued": "stopped before it was sent",
    "stop: sent": "stopped while the agent was working",
    "stop: posting": "stopped before the answer was posted",
    "stop: late": "too late to stop",
    "stop: withdrawn": "withdrawn while it waited",
    "stop: nothing": "nothing to stop",
}


@conversations.kind(StopRequest)
async def stop_requested(deps: Deps, turn: Turn, request: StopRequest) -> Result:
    """Report the result of a stop, which took effect on arrival."""
    return await stopped(deps, turn, request.thread, request.given, only=request.message_ts)


@conversations.event("app_home_opened")
def messages_tab(event: Mapping[str, Any], team: str) -> MessagesTabOpened | None:
    """Return what to queue when someone opens the Messages tab.

    https://docs.slack.dev/reference/events/app_home_opened
    """
    channel, user = text(event, "channel"), text(event, "user")
    is_theirs = event.get("tab") == "messages" and channel and user
    return MessagesTabOpened(team=team, channel=channel, user=user) if is_theirs else None


@conversations.kind(MessagesTabOpened, label="Messages tab")
async def messages_tab_opened(deps: Deps, turn: Turn, opened: MessagesTabOpened) -> Result:
    """Suggest prompts for the project's agents, and greet with the default agent's welcome message, once.

    If the service is down, nothing is shown: the person hasn't asked for anything yet.
    """
    try:
        agents = await turn.project.catalog.get_agents()
    except ProjectError:
        return Done("the service is down")
    offered = await deps.policy.offered(turn.asked("ask"), agents)
    agents = agents.only(agent for agent in agents if agent.id in offered)
    settings = (await deps.channels.get(turn.team, turn.channel)).of(turn.project_key)
    default = default_of(turn, settings.agent, agents)
    is_new = await deps.said_once.claim_greeting(turn.team, turn.user, turn.id)
    await deps.indicators.suggest_prompts(opened.channel, layout.prompts(agents, default))
    if not is_new:
        return Done("prompts")
    speaker = await deps.faces.speaker(turn.project, default.id, turn.user) if default else None
    return Outcome(what="greeted", reply=layout.greeting(default, speaker), after=(Greeted(user=turn.user),))


@conversations.once_posted(Greeted)
async def greeted(deps: Deps, turn: Turn, what: Greeted, _ts: str) -> None:
    """Record that a person was greeted."""
    await deps.said_once.greeted(turn.team, what.user)


@conversations.button(notices.NOTIFY, label="button: Notify me")
async def notify_when_answered(deps: Deps, turn: Turn, click: Click) -> Result:  # noqa: ARG001 - every button gets a turn
    """Notify this person when their message is answered."""
    goes_on = await add_waiter(deps, TurnId(click.value), click.user)
    return layout.WILL_NOTIFY if goes_on else layout.ANSWERED_ALREADY


@conversations.once_posted(AnswerShown)
async def answer_is_shown(deps: Deps, turn: Turn, about: AnswerShown, ts: str) -> None:
    """Notify the people who wait for the answer."""
    reply = partial(layout.answer_shown, about.agent)
    await notify_waiters(deps, turn, TurnId(about.turn), layout.ANSWERED, reply, ts=ts)


@conversations.button(notices.STOP, label="button: Stop")
async def stop_pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Stop the message that the button is about."""
    root, _, only = click.value.partition(" ")
    at = f"{turn.record.accepted_at.timestamp():.6f}"
    outcome = await stopped(deps, turn, ThreadKey(turn.team, turn.channel, root), at, only=only)
    private = {"audience": Audience.PRIVATE, "replaces_original": True}
    return outcome.model_copy(update={"reply": outcome.reply.model_copy(update=private)})


@conversations.command("!stop")
async def stop(deps: Deps, turn: Turn) -> Result:
    """Stop the agent's work in this thread."""
    at = turn.body.ts if isinstance(turn.body, InboundMessage) else ""
    return await stopped(deps, turn, turn.thread, at) if turn.thread else _no_conversation()


@conversations.command("!mute")
async def mute(deps: Deps, turn: Turn) -> Result:
    """Stop sending this thread to the agent until someone types !unmute."""
    is_bound = turn.thread is not None and await deps.sessions.mute(turn.thread, is_muted=True)
    return shown(layout.MUTED, "muted") if is_bound else _no_conversation()


@conversations.command("!unmute")
async def unmute(deps: Deps, turn: Turn) -> Result:
    """Resume sending this thread to the agent."""
    is_bound = turn.thread is not None and await deps.sessions.mute(turn.thread, is_muted=False)
    return shown(layout.UNMUTED, "unmuted") if is_bound else _no_conversation()


@conversations.command("!new")
async def start_new_session(deps: Deps, turn: Turn) -> Result:
    """Start a new session in this thread with the same agent."""
    conversation = await deps.sessions.thread(turn.thread) if turn.thread else None
    if turn.thread is None or conversation is None:
        return _no_conversation()
    await deps.sessions.restart(turn.thread)
    return Outcome(what="new session", reply=notices.SESSION_RESET, agent=conversation.agent)


@conversations.command("!agent <agent>")
async def hand_over(deps: Deps, turn: Turn, *, agent: Agent) -> Result:
    """Hand this thread to another agent, in a new session."""
    thread = turn.thread
    conversation = await deps.sessions.thread(thread) if thread else None
    if thread is None or conversation is None:
        return _no_conversation()
    if conversation.agent == agent.id:
        return shown(layout.answers_already(agent.name))
    await deps.policy.require(turn.asked("ask", agent))
    before = await agent_name(turn, conversation.agent) if conversation.agent is not None else ""
    await deps.sessions.choose_agent(
        thread, agent.id, project=turn.project_key
    )  # releases messages that wait for a choice
    if not await deps.sessions.rebind(
        thread, project=turn.project_key, expected=conversation.session, session=None, agent=agent.id
    ):
        return shown(layout.CHANGED_MEANWHILE)
    speaker = await deps.faces.speaker(turn.project, agent.id, turn.user)
    reply = layout.handed_over(agent.name, before, conversation.session, speaker)
    return Outcome(what="handed over", reply=reply, agent=agent.id)


@conversations.command("!session [number]")
async def show_or_continue(deps: Deps, turn: Turn, *, number: str = "") -> Result:
    """Show this thread's agent and session, or resume an earlier session here."""
    conversation = await deps.sessions.thread(turn.thread) if turn.thread else None
    number = id_key(number) or name_key(number)
    if not number or turn.thread is None:
        if conversation is None or conversation.agent is None:
            return _no_conversation()
        name, face = (
            await agent_name(turn, conversation.agent),
            await deps.faces.of_one(turn.project, conversation.agent),
        )
        return shown(notices.session_info(name, conversation.session, face))
    agent = await _agent_of(deps, turn, number, conversation.agent if conversation else None)
    if isinstance(agent, Outcome):
        return agent
    session, name = int(number), await agent_name(turn, agent)
    if conversation is None or (conversation.agent is None and conversation.session is None):
        return await _continue(deps, turn, turn.thread, session, agent)
    if conversation.session == session:
        return shown(layout.continues_already(session))
    value = f"{session}:{'' if conversation.session is None else conversation.session}:{agent}"
    return shown(layout.ask_to_continue(session, name, conversation.session, value))


@conversations.button(layout.CONTINUE, label="button: Resume session")
async def continue_session(deps: Deps, turn: Turn, click: Click) -> Result:
    """Resume the session that the person confirmed, if they may and the thread hasn't changed."""
    number, before, meant, *_ = (*click.value.split(":"), "", "")
    agent = await _agent_of(deps, turn, number, id_of(meant) if meant else None)
    if isinstance(agent, Outcome):
        return agent
    if turn.thread is None:
        return _no_conversation()
    expected = int(before) if ID.fullmatch(before) else None
    return await _continue(deps, turn, turn.thread, int(number), agent, before=expected)


async def _continue(
    deps: Deps, turn: Turn, thread: ThreadKey, session: int, agent: int, *, before: int | None = None
) -> Result:
    await check_may_ask(deps, turn, thread, agent)
    if not await deps.sessions.rebind(thread, project=turn.project_key, expected=before, session=session, agent=agent):
        return shown(layout.CHANGED_MEANWHILE)
    await deps.sessions.choose_agent(
        thread, agent, project=turn.project_key
    )  # releases messages that wait for a choice
    notice = layout.continued(session, await agent_name(turn, agent), before)
    what, about = "session continued", named("session", session)
    return Outcome(what=what, reply=notice, concerns=about, agent=agent, session=session)


def _no_conversation() -> Outcome:
    return shown(notices.NO_CONVERSATION, what="no conversation")


async def _agent_of(deps: Deps, turn: Turn, number: str, agent: int | None) -> int | Outcome:
    """Return whose session *number* is, if the person may resume it here: this *agent*'s, if it has one.

    They may resume sessions of this channel and of their own direct messages. If several other agents have one with
    this number, they're told how to say which.
    """
    if not ID.fullmatch(number):
        return shown(layout.no_such_session(number))
    threads = await deps.sessions.bound_to(turn.team, InProject(turn.project_key, int(number)))
    allowed = [bound for bound in threads if bound.thread.channel == turn.channel or bound.owner == turn.user]
    agents = sorted({bound.agent for bound in allowed if bound.agent is not None})
    if agent in agents:
        return agent
    if len(agents) > 1:
        return shown(layout.several_sessions(number, [await agent_name(turn, known) for known in agents]))
    return agents[0] if agents else shown(layout.no_such_session(number))


@conversations.on_finished_turns
async def remove_reactions(deps: Deps, turns: Sequence[FinishedTurn]) -> list[Write]:
    """Remove the ⏳ from messages that waited (`bridge.slack.indicators.QueuedReactions`)."""
    marked = [turn for turn in turns if turn.has_reaction]
    await asyncio.gather(*(deps.indicators.remove_queued_reaction(turn.channel, turn.ts) for turn in marked))
    return []
