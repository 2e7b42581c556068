"""What people do with the conversation of a thread: stop, mute, begin anew, hand it over, continue another session."""

from __future__ import annotations

import re

from bridge.features.conversations import layout as conversations
from bridge.features.conversations.notices import conversation_begins_anew, no_conversation, session_info
from bridge.features.conversations.sessions import Bound
from bridge.features.deps import Call, Deps
from bridge.features.naming import agent_name
from bridge.features.plan import Plan, Show, StopTurn
from bridge.features.routing import Router
from bridge.ids import ThreadKey
from bridge.project.models import Agent
from bridge.queue.audit import named
from bridge.queue.records import Conversation

router = Router()


@router.command("!stop", "Stop what the agent is doing in this thread; its answer is not shown.")
async def stop(deps: Deps, call: Call) -> Plan:  # noqa: ARG001 - every command gets them
    """Stop what the agent is doing in this thread; its answer is not shown."""
    return StopTurn(call.thread, call.given) if call.thread else _none()


@router.command("!mute", "Let the agent hear nothing of this thread until somebody writes !unmute.")
async def mute(deps: Deps, call: Call) -> Plan:
    """Let the agent hear nothing of this thread until somebody writes !unmute."""
    is_there = call.thread is not None and await deps.sessions.mute(call.thread, is_muted=True)
    return Show(conversations.muted(), "muted") if is_there else _none()


@router.command("!unmute", "Let the agent hear again what is said in this thread.")
async def unmute(deps: Deps, call: Call) -> Plan:
    """Let the agent hear again what is said in this thread."""
    is_there = call.thread is not None and await deps.sessions.mute(call.thread, is_muted=False)
    return Show(conversations.unmuted(), "unmuted") if is_there else _none()


@router.command("!new", "Begin a new conversation in this thread, with the same agent.")
async def begin_anew(deps: Deps, call: Call) -> Plan:
    """Begin a new conversation in this thread, with the same agent."""
    if call.thread is None or await deps.sessions.thread(call.thread) is None:
        return _none()
    await deps.sessions.restart(call.thread)
    return Show(conversation_begins_anew(), what="new session")


@router.command("!agent <agent>", "Hand this thread to another agent, in a new session.")
async def hand_over(deps: Deps, call: Call, *, agent: Agent) -> Plan:
    """Hand this thread to another agent, in a new session."""
    thread = call.thread
    conversation = await deps.sessions.thread(thread) if thread else None
    if thread is None or conversation is None:
        return _none()
    if conversation.agent == agent.id:
        return Show(conversations.answers_already(agent.name))
    before = await agent_name(deps, conversation.agent) if conversation.agent is not None else ""
    await deps.sessions.choose_agent(thread, agent.id)  # where none was chosen yet, what waits for that goes on
    if not await deps.sessions.rebind(thread, expected=conversation.session, session=None, agent=agent.id):
        return Show(conversations.changed_meanwhile())
    return Show(conversations.handed_over(agent.name, before, conversation.session), what="handed over")


@router.command(
    "!session [number]",
    "Show which agent and which session this thread has, or continue an earlier session of this channel here.",
)
async def show_or_continue(deps: Deps, call: Call, *, number: str = "") -> Plan:
    """Show which agent and which session this thread has, or continue an earlier session of this channel here."""
    conversation = await deps.sessions.thread(call.thread) if call.thread else None
    if number and call.thread is not None:
        return await _ask_to_continue(deps, call, call.thread, conversation, number)
    if conversation is None or conversation.agent is None:
        return _none()
    return Show(session_info(await agent_name(deps, conversation.agent), conversation.session))


async def _ask_to_continue(
    deps: Deps, call: Call, thread: ThreadKey, conversation: Conversation | None, number: str
) -> Plan:
    bound = await _bound(deps, call, number)
    if bound is None or bound.agent is None:
        return Show(conversations.no_such_session(number))
    session, name = int(number), await agent_name(deps, bound.agent)
    if conversation is None or (conversation.agent is None and conversation.session is None):
        return await _continue(deps, thread, session, bound.agent, None)
    if conversation.session == session:
        return Show(conversations.continues_already(session))
    value = f"{session}:{'' if conversation.session is None else conversation.session}"
    return Show(conversations.ask_to_continue(session, name, conversation.session, value))


async def continue_session(deps: Deps, call: Call, value: str) -> Plan:
    """Do what was asked about, if the person may, and the thread still has what it had then."""
    number, _, before = value.partition(":")
    bound = await _bound(deps, call, number)
    if call.thread is None or bound is None or bound.agent is None:
        return Show(conversations.no_such_session(number))
    return await _continue(deps, call.thread, int(number), bound.agent, int(before) if before.isdecimal() else None)


async def _continue(deps: Deps, thread: ThreadKey, session: int, agent: int, before: int | None) -> Plan:
    if not await deps.sessions.rebind(thread, expected=before, session=session, agent=agent):
        return Show(conversations.changed_meanwhile())
    await deps.sessions.choose_agent(thread, agent)  # what waited for the choice of one goes on
    told = conversations.continued(session, await agent_name(deps, agent), before)
    return Show(told, what="session continued", about=named("session", session))


def _none() -> Show:
    return Show(no_conversation(), what="no conversation")


async def _bound(deps: Deps, call: Call, number: str) -> Bound | None:
    """Find a session that this person may continue here: one of this channel, or of their own direct message."""
    if not re.fullmatch(r"[0-9]{1,15}", number):
        return None
    threads = await deps.sessions.bound_to(call.team, int(number))
    allowed = [one for one in threads if one.thread.channel == call.channel or one.owner == call.user]
    return allowed[0] if allowed else None
