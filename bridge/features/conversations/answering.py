"""Answer a message: find its agent and session, and send it to the agent.

Everything here may run again. A binding found in a thread is stored at once; the chosen agent is bound when the message
is sent, and the first one wins.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from bridge.ends import notices
from bridge.ends.failures import failure
from bridge.engine.caller import caller_headers
from bridge.engine.results import Done, Outcome, Result, TryLater, Wait
from bridge.engine.turn import Turn
from bridge.errors import (
    DID_NOT_ARRIVE,
    Busy,
    ConnectionLost,
    NotFound,
    NotUnderstood,
    Outage,
    ProjectError,
    ProjectRemoved,
    ServiceRefused,
    SlackError,
    SlackUnreachable,
    StoreUnavailable,
)
from bridge.features.buttons import Answered
from bridge.features.channels.app_rules import check_rule
from bridge.features.conversations import answers, layout, menu
from bridge.features.conversations.records import AnswerShown
from bridge.features.deps import Deps
from bridge.features.lookups import may_set
from bridge.features.titles import title_of
from bridge.inbound import InboundMessage, Notice
from bridge.names.folding import fold, id_key, name_key, undecorated
from bridge.names.listing import Listing
from bridge.names.matching import called, is_called, meant
from bridge.policy.rules import ANY_AGENT, Target, target_of
from bridge.project import Agent, ChatAnswer
from bridge.project.reading import TOO_LARGE
from bridge.queue.finished_turns import named
from bridge.queue.journal import TurnChanged
from bridge.queue.quotas import Quota
from bridge.queue.records import Conversation
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.content_words import size
from bridge.slack.blockkit.markdown import harmless_title
from bridge.slack.blockkit.mrkdwn import addressed
from bridge.slack.blockkit.quotation import BEFORE, SINCE, below_edited, below_report, edited_post
from bridge.slack.blockkit.reply import Audience, Reply, Speaker
from bridge.slack.history import ThreadRead
from bridge.slack.indicators import ANSWERING, Working
from bridge.slack.parts import Place

log = logging.getLogger(__name__)

_LONGEST_NAME = 200  # characters before the colon
_CLOSING = re.compile(r"[*_~`\"']+(?=\s|$)")  # formatting that includes the colon; of folded text
_LARGEST_ON_LOOP = 256 * 1024  # characters; larger answers are formatted in a thread


@dataclass(frozen=True, slots=True)
class _Question:
    """The *text* for an *agent*; *title* names a conversation that starts in a direct message, and is else ``""``.

    *names_agent*: the answer names its agent, unless *speaker* does. *status* shows that the agent is at work.
    """

    agent: int
    text: str
    conversation: Conversation
    title: str
    names_agent: bool
    speaker: Speaker | None
    status: Working


async def answer(deps: Deps, turn: Turn, message: InboundMessage) -> Result:
    """Send *message* to its agent, once. If the service no longer knows the session, start a new one with it.

    Only then is a message sent twice (or if a worker takes over, and the agent only reads), and only if the agent still
    exists; the second request includes the thread's earlier messages. Raises what `_prepare` and `Turn.once` raise.
    """
    if message.app and (stopped := await check_rule(deps, turn, message)):
        return stopped
    if message.names_project and (other := turn.check_thread()):
        return other
    try:
        question = await _prepare(deps, turn, message)
    except ProjectRemoved as exc:  # everyone in its thread may wonder
        reply = failure(exc, audience=Audience.THREAD)
        return Outcome(what=type(exc).__name__, reply=reply, concerns=exc.about)
    if not isinstance(question, _Question):
        return question
    agent, text, session = question.agent, question.text, question.conversation.session
    is_open = not (deps.policy.limits.asks or deps.policy.rules.has_file)  # to everyone whom the door lets in
    limits = () if is_open else await _limits(deps, turn, message, agent, text)
    repeats = bool(turn.project.repeat) and await _only_reads(turn, agent)

    async def send() -> tuple[ChatAnswer, bool]:
        try:
            headers = caller_headers(turn) if deps.names_caller else None
            return await turn.project.client.send_message(agent, text, session_id=session, headers=headers), False
        except NotFound as exc:
            with suppress(ProjectError):
                exc.has_item = not exc.is_page and bool(await turn.project.client.get_agent(agent))
            if session is None or not exc.has_item:
                raise
            return await _send_anew(deps, turn, message, agent, text), True

    try:
        first = agent if question.conversation.agent is None else None
        chat, is_new = await turn.once(send, first_agent=first, limits=limits, repeats=repeats)
        if turn.near:
            await turn.say_if_near()
    except DID_NOT_ARRIVE:
        raise
    except ProjectError as exc:
        return await _failed(turn, agent, exc, is_told=question.status.is_told)
    if question.title:
        turn.until_shown.push_async_callback(deps.indicators.set_title, turn.destination.place, question.title)
    known = session if chat.sessionId is None and not is_new else chat.sessionId
    turn.stage(
        *deps.sessions.answered(
            message,
            known,
            project=turn.project_key,
            expected=session,
            agent=agent,
            names_agent=question.names_agent and not turn.conversation.names_agent,
            root=question.conversation.root,
        )
    )
    facts = {answers.SESSION_GONE: is_new, answers.NO_SESSION: known is None, answers.REPEATED: turn.record.is_repeated}
    notes = [note for note, is_so in facts.items() if is_so]
    if chat.is_cut:
        notes.append(answers.CUT.format(size=size(chat.size) or TOO_LARGE))
    if message.is_late and not turn.record.is_again and await deps.said_once.claim_late_note(message.thread, turn.id):
        notes.append(answers.LATE)
    by = await turn.project.catalog.agent_name(agent) if question.names_agent and question.speaker is None else ""
    shown = partial(
        answers.answer_reply, chat.message, chat.toolsUsed, notes=notes, feedback=Answered(turn.id, agent, known),
        by=by, project=turn.project_name, speaker=question.speaker, has_files=deps.slack.may_upload,
    )  # fmt: skip
    reply = await asyncio.to_thread(shown) if len(chat.message) > _LARGEST_ON_LOOP else shown()
    after: tuple[AnswerShown, ...] = ()
    if question.status.is_told:
        after = (AnswerShown(turn=turn.id, agent=await turn.project.catalog.agent_name(agent)),)
    return Outcome(what="answered", reply=reply, agent=agent, session=known, after=after)


async def _limits(deps: Deps, turn: Turn, message: InboundMessage, agent: int, text: str) -> tuple[Quota, ...]:
    """Return what the question counts for.

    Raises `NotAllowed` unless the person, or the owner of the rule for their app, may ask this agent now.
    """
    owner = message.owner if message.app else ""
    known = await turn.project.catalog.agent(agent)
    if deps.policy.rules.has_file:
        await deps.policy.require(*turn.started("ask", target_of(known) or Target("agent", str(agent))))
    asked = deps.projects.asked("ask", owner or turn.user, turn.channel, turn.project_key, known)
    return () if turn.record.is_repeated else await deps.policy.quotas(asked, text)


async def _send_anew(deps: Deps, turn: Turn, message: InboundMessage, agent: int, text: str) -> ChatAnswer:
    """Send a message in a new session, as its own is gone, with the thread's earlier messages."""
    is_complete = message.is_root or text.startswith((BEFORE, SINCE))
    full_text = text if is_complete else await deps.context.quote_thread(message.thread, message.ts, text)
    turn.lease.check()
    headers = caller_headers(turn, "2") if deps.names_caller else None
    try:
        return await turn.project.client.send_message(agent, full_text, headers=headers)
    except NotFound as exc:
        exc.has_item = not exc.is_page
        raise


async def _only_reads(turn: Turn, agent: int) -> bool:
    """Whether *agent* is one of those that may be asked twice. Raises `ProjectError`, also if that has to wait."""
    if turn.record.is_repeated:  # it waits until the service answers
        try:
            await turn.project.client.get_project()
        except (NotUnderstood, ServiceRefused) as exc:
            if isinstance(exc, Busy | Outage):
                raise
    known = await turn.project.catalog.agent(agent)
    return known is not None and any(is_called(key, known) for key in turn.project.repeat)


async def waits_for(deps: Deps, message: InboundMessage) -> tuple[str, Speaker | None]:
    """Return the agent that a queued *message* waits for: its name, ``""`` if unknown, and how it speaks."""
    conversation = await deps.sessions.thread(message.thread)
    project = deps.projects.get(conversation.project or "") if conversation else None
    if conversation is None or conversation.agent is None or project is None:
        return "", None
    speaker = await deps.faces.speaker(project, conversation.agent, message.user)
    name = speaker.name if speaker else await project.catalog.agent_name(conversation.agent)
    return harmless_title(kit.one_line(name, _LONGEST_NAME)), speaker


async def _say_that_it_works(deps: Deps, turn: Turn, message: InboundMessage, status: Working, name: str) -> None:
    """Say in private, once, that the agent is at work, unless the person can see that."""
    if status.is_seen or turn.record.has_queued_reaction:
        return
    reply = layout.still_working(name, turn.id, f"{message.thread.root} {message.ts}")
    with suppress(StoreUnavailable, SlackError):
        if await deps.said_once.claim_word_of_work(turn.id):
            await deps.slack.whisper(turn.destination.recipient, reply)
            status.is_told = True


async def _failed(turn: Turn, agent: int, error: ProjectError | None, *, is_told: bool = False) -> Outcome:
    """Say that the agent's answer failed, or may have; None: an earlier worker may have asked, and died.

    If its person *is_told* that the agent is at work, those who asked for it are notified. An agent that only reads is
    asked once more instead, if the answer was lost on its way. Raises `TurnChanged` then.
    """
    name = await turn.project.catalog.agent_name(agent)
    if turn.may_repeat and (error is None or isinstance(error, ConnectionLost | Outage)):
        await turn.repeat()
    after = (AnswerShown(turn=turn.id, agent=name),) if is_told else ()
    about, cause = named("agent", agent, name), error.cause if error else "the bridge ended before an answer came"
    if error is not None and not error.may_have_happened:
        reply = failure(error, audience=Audience.THREAD)
        return Outcome(what=type(error).__name__, reply=reply, concerns=about, cause=cause, after=after)
    reply = notices.outcome_unknown(turn.id, error, name)
    return Outcome(what="unknown", reply=reply, keeps_text=True, concerns=about, cause=cause, after=after)


async def _prepare(deps: Deps, turn: Turn, message: InboundMessage) -> _Question | Result:
    """Find or choose the thread's agent, and compose the text for it; or answer without an agent.

    Raises `ProjectError`, `StoreUnavailable` and `TryLater`.
    """
    conversation, read = turn.conversation, None
    if conversation.is_muted:  # since the message was queued
        return Done("its thread is muted") if message.app else Outcome(what="not sent", reply=notices.THREAD_MUTED)
    if conversation.agent is None and not message.is_root:
        recovered = await _recover(deps, turn, message)
        if isinstance(recovered, Done):
            return recovered
        conversation, read = recovered
    text = await deps.parts.text(message.text)
    if not (text or message.parts):
        return notices.MENTION_WITHOUT_TEXT
    agent, name, title, names_agent = conversation.agent, "", "", conversation.names_agent
    if agent is None or turn.record.starts:
        to, rest = addressed(message.text, deps.bot_user)  # it may mention other people, too
        rest = await deps.parts.text(rest)
        settings = (await deps.channels.get(turn.team, turn.channel)).of(turn.project_key)
        agents = await _candidates(turn, rest, str(settings.agent or ""), turn.project.default_agent)
        named = agent_named_first(rest, agents)
        wanted = named[0] if named else default_of(turn, settings.agent, agents)
        if agent is None and wanted is None:
            if not agents:
                return notices.NO_AGENTS
            return await _ask_which(deps, turn, rest, agents)
        names_agent = names_agent or (agent is None and named is None and len(agents) > 1)  # the default answers
        agent = wanted.id if agent is None and wanted else agent
        assert agent is not None  # noqa: S101 - for mypy: one of the two is set
        if named and named[0].id == agent:
            text = " ".join(filter(None, [await deps.parts.text(to[: to.rfind(">") + 1]), named[1]]))
        if not (text or message.parts):
            # Only a name was typed: the next message goes to that agent.
            await deps.sessions.choose_agent(message.thread, agent, project=turn.project_key)
            return notices.MENTION_WITHOUT_TEXT
        name = next((known.name for known in agents if known.id == agent), "")
        title = title_of(text) if message.is_direct and message.is_root else ""
    # From here on it may take a while: files are fetched, the thread is read, the agent works.
    speaker = await deps.faces.speaker(turn.project, agent, turn.user)
    last = turn.project.catalog.get_agents.last or ()
    name = name or next((known.name for known in last if known.id == agent), "")
    status = await turn.until_shown.enter_async_context(
        Working(deps.indicators, turn.destination.place, name, speaker=speaker, title=title)
    )
    status.is_told = turn.record.has_waited
    if not message.app:
        status.call(partial(_say_that_it_works, deps, turn, message, status, name), after=deps.long_run)
    if message.parts:
        if files := deps.parts.count_readable(message.parts):
            status.now(f"is reading {kit.counted(files, 'file')}")
        whole = await deps.parts.below(text, message.parts)
        if not whole.text:
            return Outcome(what="not read", reply=notices.not_read(whole.missing, is_all=True))
        if whole.missing and not message.app:
            reply = notices.not_read(whole.missing[: notices.MOST_NAMED], only_names=whole.only_names)
            await notify_of_missing_parts(deps, turn, message, reply)
        text = whole.text
        status.now(ANSWERING)
    text = await deps.context.add_to(turn, message, text, conversation.session, read)
    text = await _with_root(deps, conversation, message, text)
    return _Question(agent, text, conversation, title, names_agent, speaker, status)


async def _with_root(deps: Deps, conversation: Conversation, message: InboundMessage, text: str) -> str:
    """Put what the agent doesn't know of the thread's first message before *text*: a report, or that it was edited."""
    if message.is_root:
        is_edit = message.app and message.edited_ts and conversation.session is not None
        return edited_post(message.app_name, text) if is_edit else text
    if conversation.session is not None:
        return below_edited(await deps.parts.text(conversation.root), text) if conversation.root else text
    report = await deps.sessions.report_words(message.thread)
    return below_report(report, text) if report else text


async def _candidates(turn: Turn, *named: str) -> Listing[Agent]:
    """Return the agents. If the service lists only some, those whose IDs are *named* are looked up, too."""
    agents = await turn.project.catalog.get_agents()
    for text in named if agents.is_part else ():
        more = await turn.project.catalog.candidates("agent", text)
        agents = agents.only([*agents, *(agent for agent in more if agent not in agents)])
    return agents


async def _ask_which(deps: Deps, turn: Turn, text: str, agents: Listing[Agent]) -> Wait:
    """Ask which of the agents that the person may talk to should answer. Raises `NotAllowed` if there's none."""
    offered = await deps.policy.offered(turn.asked("ask"), agents)
    if not offered:
        await deps.policy.require(turn.asked("ask", ANY_AGENT))
    agents = agents.only(agent for agent in agents if agent.id in offered)
    meant, may_set_default = addressee(text, agents), await may_set(deps, turn, turn.channel)
    faces = deps.faces.of(turn.project, agents)
    return Wait(menu.agent_menu(agents, meant, faces=faces, may_set_default=may_set_default))


async def _recover(deps: Deps, turn: Turn, message: InboundMessage) -> tuple[Conversation, ThreadRead | None] | Done:
    """Restore a binding that is found in the thread, and return it with what was read; or why nothing is sent."""
    read = await _search(deps, message)
    if read is None or read.recalled is None:
        return Done("its thread has no conversation") if turn.record.searches else (turn.conversation, read)
    lost = read.recalled
    log.info("recovered a lost session from its thread", extra={"session": lost.session})
    replies = (await deps.channels.get(turn.team, turn.channel, with_ids=False)).replies or deps.channels.replies
    is_auto = turn.record.searches and replies == "auto"
    counts = not is_auto or Conversation(writers=read.writers).is_with(message.user, message.ts)
    line = f"{message.ts} {message.user} "
    writers = read.writers.replace(f"{line}0", f"{line}1") if counts else read.writers
    await deps.sessions.rebind(
        message.thread, project=lost.project, expected=None, session=lost.session, agent=lost.agent, writers=writers
    )
    if not counts:
        return Done("others are writing in its thread, so it needs a mention")
    if lost.project != turn.project_key:
        raise TurnChanged  # take the turn again, now that its project is known
    return await deps.sessions.thread(message.thread) or Conversation(), read


async def notify_of_missing_parts(deps: Deps, turn: Turn, message: InboundMessage, reply: Reply) -> None:
    """Queue a private notice of a message's unread parts, once per version of the message."""
    notice = Notice(
        team=message.team,
        channel=message.channel,
        user=message.user,
        what="not_read",
        reply=reply.stored(),
        of="notice",
        is_offer=True,
        ts=message.ts,
        thread_ts=message.thread_ts,
    )
    await deps.inbox.put(notice, event=f"not_read:{turn.id}:{message.edited_ts}")


async def unknown_answer(deps: Deps, turn: Turn) -> Outcome:  # noqa: ARG001 - every handler gets them
    """Say that the agent may have received the message, and offer to send it again."""
    agent = turn.conversation.agent
    if agent is not None:
        return await _failed(turn, agent, None)
    return Outcome(what="unknown", reply=notices.outcome_unknown(turn.id), keeps_text=True)


def agent_named_first(text: str, agents: Sequence[Agent]) -> tuple[Agent, str] | None:
    """Return the agent that *text* names before a colon (``Support: hello``), and the text after the colon, as typed.

    None if it names none, as ordinary text does. The name may be quoted or formatted, and have a colon itself.
    """
    plain = undecorated(text)
    for whole in (text, plain) if plain != text else (text,):
        folded = fold(whole, _LONGEST_NAME)
        line = folded.text.lstrip().partition("\n")[0]
        begin = len(folded.text) - len(folded.text.lstrip())
        for colon in reversed([begin + match.start() for match in re.finditer(":", line)]):
            closing = _CLOSING.match(folded.text, colon + 1)
            after = colon + 1 + (len(closing[0]) if closing else 0)
            before = f"{folded.text[begin:colon]}{closing[0] if closing else ''}"
            is_wide = not folded.between(colon, colon + 1).isascii()  # after a full-width colon, people type no blank
            if not is_wide and folded.text[after : after + 1].strip():
                continue
            if named := called(before, agents):
                return (named[0], folded.after(after)) if len(named) == 1 else None
    return None


def addressee(text: str, agents: Sequence[Agent]) -> Agent | None:
    """Return the agent that *text* seems to name at its start (``Support, hello``, ``Suport: hello``), or None."""
    line = fold(text.strip(), _LONGEST_NAME).text.partition("\n")[0]
    head, mark, _rest = re.split("([:,])", line, maxsplit=1) if re.search("[:,]", line) else ("", "", "")
    if mark and (near := meant(head, agents)):
        return near
    typed = name_key(line)
    named = [agent for agent in agents if (key := name_key(agent.name)) and typed.startswith(key)]
    named = [agent for agent in named if not typed[len(name_key(agent.name)) :][:1].isalnum()]
    return max(named, key=lambda agent: len(agent.name)) if named else None


def configured(wanted: str, agents: Sequence[Agent]) -> Agent | None:
    """Return the agent that a project's settings name as its default, by ID or name; an ID wins."""
    named = called(wanted, agents)
    agents = [agent for agent in named if str(agent.id) == id_key(wanted)] or named
    return agents[0] if len(agents) == 1 else None


def default_of(turn: Turn, channel_default: int | None, agents: Listing[Agent]) -> Agent | None:
    """Return the agent that answers in a channel if nothing else picks one."""
    usual = turn.project.default_agent
    here = next((agent for agent in agents if agent.id == channel_default), None)
    return here or configured(usual, agents) or (agents[0] if len(agents) == 1 and not agents.is_part else None)


async def _search(deps: Deps, message: InboundMessage) -> ThreadRead | None:
    """Search a thread for a binding that Redis has lost, once per thread; None without a search.

    Raises `TryLater`.
    """
    thread = message.thread
    if await deps.sessions.was_searched(thread):
        return None
    try:
        place = Place(thread.channel, thread.root)
        read = await deps.slack.history().read_thread(place, before=message.ts, with_own=True)
        if read.recalled is None and read.cut_short is not None:
            raise read.cut_short
    except SlackUnreachable as exc:
        if thread.is_older_than(deps.store_since()):
            raise TryLater(exc.retry_after or None) from exc
        return None
    except SlackError as exc:  # such as a missing permission: start a new conversation
        log.info("can't search a thread for its session", extra={"detail": exc.detail})
        read = ThreadRead()
    if read.recalled is None:
        await deps.sessions.mark_searched(thread)
    return read
