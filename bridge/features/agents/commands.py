"""``/agents``, and the form to ask an agent."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from bridge.engine.feature import Feature
from bridge.engine.results import Done, Modal, NewThread, Outcome, Result, TryLater, shown
from bridge.engine.turn import Turn
from bridge.errors import SlackError, SlackRefused
from bridge.features.agents import asking, layout
from bridge.features.agents.handles import HANDLES, Handle, HandleTaken, read_handle
from bridge.features.buttons import ASK_ABOUT, OPEN_ASK, ask_button, id_of
from bridge.features.deps import Deps
from bridge.features.lookups import agent_by_id, find_agent, origin_of
from bridge.ids import ThreadKey
from bridge.inbound import Click, MessageFile, MessagePart, Notice, Shortcut, Submission, UserGroupChanged
from bridge.names.folding import name_key
from bridge.project.models import Agent
from bridge.queue.finished_turns import named
from bridge.queue.writes import Write
from bridge.slack.blockkit.content_words import files_in
from bridge.slack.blockkit.kit import escape
from bridge.slack.blockkit.lists import ListPage
from bridge.slack.blockkit.modals import Origin
from bridge.slack.blockkit.mrkdwn import mentions_in, message_text
from bridge.slack.blockkit.reply import Reply
from bridge.slack.payloads import mapping, text
from bridge.slack.scopes import USER_GROUPS

log = logging.getLogger(__name__)

agents = Feature("agents")
agents.sets_up(HANDLES)
agents.outcomes |= {"handle_trouble": "notified: someone changed the handle in Slack"}

_NONE: Final = frozenset({"none", "off", "remove"})


@agents.command("/agents list [words]", default=True, read_only=True)
async def list_agents(deps: Deps, turn: Turn, *, words: str = "") -> Result:
    """List the agents, or search them."""
    return await _list(deps, turn, ListPage(words=words))


@agents.command("/agents show <agent>", read_only=True)
async def show_agent(deps: Deps, turn: Turn, *, agent: Agent) -> Result:
    """Show one agent and its tools."""
    detail = await turn.project.client.get_agent(agent.id)
    face = await deps.faces.of_one(turn.project, agent.id)
    url, project = turn.project.agent_url, turn.project_name
    known = (await deps.handles.of(turn.project_key)).get(agent.id)
    handle = layout.written(known.handle, known.trouble) if known else ""
    may_ask = await deps.policy.may(turn.asked("ask", agent))
    return layout.agent_card(agent, detail, url, project, face=face, handle=handle, may_ask=may_ask)


async def _form(_deps: Deps, turn: Turn, agent: Agent | None, message: str | None) -> Modal:
    """Open the form to ask an agent, with what's known filled in."""
    here = Origin(channel=turn.channel, response_url=turn.response_url)
    return asking.ask_form(agent, here, message=message or "")


@agents.command("/agents chat [agent] [message]", form=ask_button(None, "Ask an agent…"), offered=True, opens=_form)
async def chat_with_agent(deps: Deps, turn: Turn, *, agent: Agent, message: str) -> Result:
    """Ask an agent in a new thread. Leave out the message to get a form."""
    await deps.policy.require(turn.asked("ask", agent))
    root = layout.conversation_root(agent, message, await deps.directory.user_name(turn.user))
    return _thread_started(agent, root, message)


@agents.command("/agents handle <agent> <handle>")
async def set_handle(deps: Deps, turn: Turn, *, agent: Agent, handle: str) -> Result:
    """Give an agent a handle that completes as people type it, such as @support, or none."""
    await deps.policy.require(turn.asked("settings", agent))
    about = named("agent", agent.id, agent.name)
    if name_key(handle) in _NONE:
        known = (await deps.handles.all()).items()
        for group in [id_ for id_, other in known if (other.project, other.agent) == (turn.project_key, agent.id)]:
            try:
                await deps.handles.remove(group)
            except SlackError as exc:
                log.info("can't remove a handle", extra={"detail": exc.detail})
                return shown(layout.HANDLE_NOT_REMOVED, "no handle", about)
        return shown(layout.handle_removed(agent), "changed", about)
    wanted = read_handle(handle)
    if not wanted:
        return layout.not_a_handle(handle)
    record = Handle(agent=agent.id, project=turn.project_key, handle=wanted, owner=turn.user, team=turn.team)
    try:
        await deps.handles.give(record, agent)
    except HandleTaken:
        return shown(layout.no_handle(wanted, "handle_already_exists"), "handle in use", about)
    except SlackRefused as exc:
        return shown(layout.no_handle(wanted, exc.error), f"no handle: {exc.error}", about)
    except SlackError as exc:
        log.info("can't set a handle", extra={"detail": exc.detail})
        return shown(layout.no_handle(wanted, ""), "no handle", about)
    return shown(layout.handle_saved(agent, wanted), "changed", about)


@agents.every(timedelta(minutes=15))
async def check_handles(deps: Deps) -> None:
    """Tell those who set handles what has become of them, as far as Slack's events didn't say so."""
    await _tell_of_handles(deps)


@agents.event("subteam_created", USER_GROUPS)
@agents.event("subteam_updated", USER_GROUPS)
def user_group(event: Mapping[str, Any], team: str) -> UserGroupChanged | None:
    """Return what to queue when someone creates, changes, disables or enables a user group.

    https://docs.slack.dev/reference/events/subteam_created https://docs.slack.dev/reference/events/subteam_updated
    """
    group = mapping(event.get("subteam"))
    if not (id_ := text(group, "id")):
        return None
    by = (group.get("date_delete") and text(group, "deleted_by")) or text(group, "updated_by")
    return UserGroupChanged(team=team, channel="", user="", group=id_, handle=text(group, "handle"), by=by)


@agents.kind(UserGroupChanged, label="User group changed")
async def group_changed(deps: Deps, turn: Turn, changed: UserGroupChanged) -> Result:  # noqa: ARG001 - like every other
    """Tell the person who set a handle at once, unless the bot itself changed it, which may not be stored yet.

    Events about other groups cost no look at Slack.
    """
    if changed.by == deps.bot_user or not await deps.handles.is_about(changed.group, changed.handle):
        return Done("no handle was changed by people")
    try:
        await _tell_of_handles(deps)
    except SlackError as exc:
        raise TryLater(exc.retry_after or None) from exc
    return Done("the handles were looked at")


async def _tell_of_handles(deps: Deps) -> None:
    """Store which handles have changed, and tell those who set them. Raises `SlackError`."""
    try:
        changes = await deps.handles.check()
    except SlackRefused as exc:  # a permission that's missing, for example: `bridge check` says so
        log.info("can't look at the handles", extra={"detail": exc.detail})
        return
    for change in changes:
        notices, now = list[Write](), change.now
        if now.trouble and now.owner:
            project = deps.projects.get(now.project)
            name = await project.catalog.agent_name(now.agent) if project else ""
            reply = layout.handle_changed(now.trouble, name, change.before.handle, now.handle)
            notice = Notice.direct(now.team, now.owner, layout.HANDLE_TROUBLE, reply.stored())
            notices.append(deps.inbox.queues(notice, why="a handle was changed in Slack"))
        await deps.inbox.write(*deps.handles.notes(change, notices))
    if changes:
        await deps.handles.changed()


@agents.button(layout.TURNS[0], label="button: Previous")
@agents.button(layout.TURNS[1], label="button: Next")
async def turn_page(deps: Deps, turn: Turn, click: Click) -> Result:
    """Show another page of the list: in place, or privately if the list is public."""
    reply = await _list(deps, turn, ListPage.parse(click.value))
    is_own = click.is_ephemeral or click.channel.startswith("D")
    return reply.model_copy(update={"replaces_original": is_own})


@agents.button(OPEN_ASK, label="button: Ask an agent")
async def ask_pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Open the form that starts a conversation, with the button's agent chosen."""
    agent = await find_agent(turn, id_of(click.value)) if click.value else None
    return asking.ask_form(agent, await origin_of(deps, turn))


@agents.button(ASK_ABOUT, label="button: Ask an agent about this")
async def ask_about_pressed(deps: Deps, turn: Turn, click: Click) -> Result:
    """Open the form to ask an agent about the text of the button's message, in its thread."""
    where = {"thread_ts": click.thread_ts or click.message_ts, "message_ts": click.message_ts}
    origin = (await origin_of(deps, turn)).model_copy(update={} if click.is_ephemeral else where)
    return asking.ask_form(None, origin, about=click.value)


@agents.form(asking.AskForm)
async def question_sent(deps: Deps, turn: Turn, submission: Submission, question: asking.AgentQuestion) -> Result:
    """Ask in a new thread, or in the thread of the message the question is about."""
    origin, chosen = Origin.parse(submission.private_metadata), question.agent
    if submission.thread_ts:  # a thread's own agent answers, whichever agent was chosen
        conversation = await deps.sessions.thread(ThreadKey(turn.team, submission.channel, submission.thread_ts))
        chosen = conversation.agent if conversation and conversation.agent is not None else chosen
    agent = await agent_by_id(turn, chosen)
    await deps.policy.require(turn.asked("ask", agent))
    author = await deps.directory.user_name(origin.author) if origin.author else ""
    text = asking.question_text(question, author)
    if origin.thread_ts != origin.message_ts and not submission.thread_ts:  # asked outside the message's thread
        thread = ThreadKey(turn.team, origin.channel, origin.thread_ts)
        text = await deps.context.quote_thread(thread, origin.message_ts, text)
    root = asking.question_shown(agent, question, await deps.directory.user_name(turn.user), author)
    files = tuple(MessageFile(id=file) for file in origin.files)  # their contents are read in the agent's turn
    return _thread_started(agent, root, text, submission.thread_ts, files)


@agents.shortcut(
    "ask", asking.ASK_AN_AGENT, "Start a conversation with an agent.", "global", label="shortcut: Ask an agent"
)
async def ask_from_anywhere(deps: Deps, turn: Turn, shortcut: Shortcut) -> Result:  # noqa: ARG001 - every shortcut gets it
    """Open the form to ask an agent."""
    return asking.ask_form(None, await origin_of(deps, turn))


@agents.shortcut(
    "ask_about",
    "Ask an agent about this",
    "Ask in its thread or in private.",
    "message",
    label="shortcut: Ask an agent",
)
async def ask_about_message(deps: Deps, turn: Turn, shortcut: Shortcut) -> Result:
    """Open the form to ask an agent about a message, with its text as people read it."""
    names = await deps.directory.names(mentions_in(shortcut.text))
    about = message_text(shortcut.text, bot_user="", names=names)
    if shortcut.parts:
        about = await deps.parts.described_below(about, shortcut.parts)
    files = tuple(file.id for file in files_in(shortcut.parts) if file.id)
    where = {
        "thread_ts": shortcut.thread_ts, "author": shortcut.author, "message_ts": shortcut.message_ts, "files": files,
    }  # fmt: skip
    origin = (await origin_of(deps, turn)).model_copy(update=where)
    return asking.ask_form(None, origin, about=about)


async def _list(deps: Deps, turn: Turn, page: ListPage) -> Reply:
    default = (await deps.channels.get(turn.team, turn.channel)).of(turn.project_key).agent
    agents = await turn.project.catalog.get_agents()
    offered = await deps.policy.offered(turn.asked("ask"), agents)
    are_hidden = len(offered) < len(agents)
    agents = agents.only(agent for agent in agents if agent.id in offered)
    faces, handles = deps.faces.of(turn.project, agents), await deps.handles.of(turn.project_key)
    shown_as = {agent: layout.written(known.handle, known.trouble) for agent, known in handles.items()}
    return layout.agent_list(
        agents, page.words, default, page.page, faces=faces, handles=shown_as, are_hidden=are_hidden,
        project=turn.project_name,
    )  # fmt: skip


def _thread_started(
    agent: Agent, root: Reply, message: str, thread_ts: str = "", parts: tuple[MessagePart, ...] = ()
) -> Outcome:
    """Post *root*, and queue *message* below it like a typed one, with Slack's escapes."""
    new = NewThread(agent=agent.id, text=escape(message), parts=parts, thread_ts=thread_ts)
    return Outcome(what="thread started", reply=root, mark="bridge_root", after=(new,))
