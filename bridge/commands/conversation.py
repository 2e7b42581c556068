"""What can be said about the conversation of a thread: ``!new``, ``!session``."""

from __future__ import annotations

from bridge.blocks.notices import conversation_begins_anew, no_conversation, session_info
from bridge.commands.deps import Call, Deps
from bridge.commands.naming import agent_name
from bridge.commands.routing import Router
from bridge.turns.plan import Plan, Show

router = Router()


@router.command("!new")
async def begin_anew(deps: Deps, call: Call) -> Plan:
    """Begin a new conversation in this thread, with the same agent."""
    if call.thread is None or await deps.sessions.thread(call.thread) is None:
        return Show(no_conversation())
    await deps.sessions.restart(call.thread)
    return Show(conversation_begins_anew())


@router.command("!session")
async def show_session(deps: Deps, call: Call) -> Plan:
    """Show which agent and which session this thread has."""
    conversation = await deps.sessions.thread(call.thread) if call.thread else None
    if conversation is None or conversation.agent is None:
        return Show(no_conversation())
    return Show(session_info(await agent_name(deps, conversation.agent), conversation.session))
