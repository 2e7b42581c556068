"""Handlers of the buttons in conversations; action IDs are defined next to their blocks.

Each may run again: its result is stored with the turn of the click or of the answer.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from zlib import crc32

from bridge.ends import notices
from bridge.ends.decisions import told_of
from bridge.engine.choices import Choices
from bridge.engine.feature import Feature
from bridge.engine.projects import remember
from bridge.engine.questions import Question, remove_notice
from bridge.engine.results import MENU_MARK, HomeChanged, NewThread, Outcome, Result, shown, try_later
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed, SlackError
from bridge.features.buttons import AGAIN, CHOOSE_FOR, agents_to_choose, chosen_for, id_of
from bridge.features.conversations import fences, menu, stops
from bridge.features.conversations.records import QueuedAgain, ShownLate
from bridge.features.deps import Deps
from bridge.features.lookups import agent_name, find_agent, may_set, workflow_by_id
from bridge.features.run_records import TriggeredRun
from bridge.ids import PersonKey, ThreadKey, TurnId, side_id, thread_lane
from bridge.inbound import Click, InboundMessage, Notice
from bridge.policy.rules import ANY_AGENT, Target
from bridge.project.models import Agent
from bridge.queue.drafts import Draft
from bridge.queue.inbox import Arrival, Condition
from bridge.queue.put import NotQueued, Put, Queued
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Reply
from bridge.slack.parts import MessageTag

log = logging.getLogger(__name__)

conversations = Feature("conversations")
conversations.options(menu.CHOOSE, act="ask")(agents_to_choose)


@conversations.every(timedelta(hours=1))
async def discard_expired(deps: Deps) -> None:
    """Discard messages that wait for a decision for longer than a conversation lasts."""
    if count := await deps.inbox.discard_expired():
        log.info("messages that waited too long for a decision were discarded", extra={"threads": count})


_SENT = {
    notices.SEND_AGAIN: notices.SENT_AGAIN,
    notices.SEND_EDITED: notices.SENT_EDITED,
    notices.SEND_REPLY: notices.SENT_REPLY,
}


@conversations.button(notices.SEND_AGAIN, label="button: Send again")
@conversations.button(notices.SEND_EDITED, label="button: Send new text")
@conversations.button(notices.SEND_REPLY, label="button: Send it")
async def send_draft(deps: Deps, turn: Turn, click: Click) -> Result:
    """Queue a message again, or its new text, at the end of its thread; or a reply that the agent didn't get."""
    draft = await deps.inbox.drafts.get(click.value)
    await _check_may_send(deps, turn, draft)
    reply = _SENT[click.action_id]
    if draft is not None and draft.is_reply and isinstance(draft.body, InboundMessage):
        message = draft.body
        arrival = Arrival(
            inbound=message,
            event=f"reply:{message.key}",
            message=message,
            thread=message.thread,
            condition=Condition.BOUND,
            is_limited=True,
            why="its author had it sent",
        )
        return _put_by_button(await deps.inbox.put_arrival(arrival), reply)
    if click.is_ephemeral:
        reply = reply.model_copy(update={"audience": Audience.PRIVATE})
    return _resent(await deps.inbox.drafts.put(click.value, by=turn.id, user=turn.user), reply)


@conversations.button(notices.SEND_THEM, label="button: Send them")
async def send_them(deps: Deps, turn: Turn, click: Click) -> Result:
    """Queue a thread's messages that were too old when found, once, in their original order."""
    thread = ThreadKey(click.team, click.channel, click.thread_ts)
    await check_may_ask(deps, turn, thread)
    drafts = deps.inbox.drafts
    results = [await drafts.put(draft, by=turn.id, user=turn.user) for draft in await drafts.offered(thread)]
    for end in ("full", "muted", "unbound", "queued", "already"):
        if same := [result for result in results if result.end == end]:
            return _resent(same[-1], notices.sent_them(len(same)))
    return _resent(NotQueued("gone"), notices.MESSAGE_GONE)


async def _check_may_send(deps: Deps, turn: Turn, draft: Draft | None) -> None:
    """Raise `NotAllowed` unless *turn*'s person may have a *draft* sent now, perhaps one of someone else.

    What it starts is judged for them once more when it's acted on (`Turn.causer`).
    """
    if draft is None:
        return
    body = draft.body
    if body.user == turn.user:
        await _check_sees(deps, turn, body.channel)
        return
    if body.channel != turn.channel:
        wanted = turn.asked("ask", ANY_AGENT, channel=body.channel)
        reason = await deps.refusal_now(turn.user, body.channel, wanted)
        if reason or body.channel.startswith("D"):
            raise NotAllowed(reason or "left")
    if isinstance(body, InboundMessage):
        await check_may_ask(deps, turn, body.thread)
    elif isinstance(body, TriggeredRun):
        await deps.policy.require(turn.asked("run", await workflow_by_id(turn, body.workflow), channel=body.channel))


async def _check_sees(deps: Deps, turn: Turn, channel: str) -> None:
    """Raise `NotAllowed` if *turn*'s person, who's elsewhere, can't see this *channel*: they may have left it."""
    if kit.is_channel(channel) and channel != turn.channel:
        with try_later():
            if not await deps.directory.sees(turn.user, channel):
                raise NotAllowed("left")


async def check_may_ask(deps: Deps, turn: Turn, thread: ThreadKey, agent: int | None = None) -> None:
    """Raise `NotAllowed` unless *turn*'s person may ask this *agent* in a *thread*, or the one that answers there."""
    if not deps.policy.rules.has_file:  # else everyone may whom the door lets in
        return
    if agent is None and (conversation := await deps.sessions.thread(thread)):
        agent = conversation.agent
    target: Target | Agent = ANY_AGENT if agent is None else Target("agent", str(agent))
    await deps.policy.require(turn.asked("ask", await find_agent(turn, agent) or target, channel=thread.channel))


@conversations.once_posted(QueuedAgain)
async def queued_shown(deps: Deps, turn: Turn, queued: QueuedAgain, ts: str) -> None:
    """Have the notice removed once the queued turn ends, which it may have done already."""
    notice, again = ts or turn.response_url, TurnId(queued.turn)
    if notice and again and not await deps.inbox.drafts.note(again, notice):
        await remove_notice(deps, again, turn.channel, notice)


def _resent(put: Put, queued: Reply) -> Outcome:
    """Say what became of a draft that a button has put: *queued*, or the reason why it wasn't."""
    match put:
        case Queued():
            return Outcome(what="sent again", reply=queued, after=(QueuedAgain(turn=put.turn),))
        case NotQueued("already"):
            return shown(notices.already_used(), "already")
        case NotQueued("gone"):
            return shown(notices.MESSAGE_GONE, "gone")
        case _:
            return _put_by_button(put, queued)


@conversations.button(notices.SHOW, label="button: Show it")
@conversations.button(stops.SHOW, label="button: Show answer")
async def show_after_all(deps: Deps, turn: Turn, click: Click) -> Result:
    """Show a recorded outcome that may never have been posted, once per message with such a button.

    That message is replaced, unless it reports a stop, whose other buttons are still needed.
    """
    offer_ts = click.message_ts if click.action_id == notices.SHOW else ""
    stored = await deps.inbox.stored_outcome(TurnId(click.value), by=turn.id, button=click.message_ts)
    if stored is None:
        return shown(notices.ANSWER_GONE, "gone")
    if not stored:
        return shown(notices.already_used(), "already")
    outcome = Outcome.from_json(stored)
    return outcome.model_copy(
        update={
            "what": "shown after all",
            "reply": outcome.reply.model_copy(update={"replaces_original": False}),
            "after": (*outcome.after, ShownLate(turn=click.value, notice=offer_ts)),
            "ended": "",  # the run belongs to the other turn's person
            "project": outcome.project or "",
        }
    )


@conversations.once_posted(ShownLate)
async def shown_late(deps: Deps, turn: Turn, late: ShownLate, _ts: str) -> None:
    """Delete the stored outcome, and replace the notice that offered it."""
    await deps.inbox.drop_outcome(TurnId(late.turn))
    if not late.notice:
        return
    try:
        mark = MessageTag("bridge_notice", side_id(turn.id, "shown"))
        await deps.slack.update(turn.channel, late.notice, notices.SHOWN_AFTER_ALL, mark)
    except SlackError as exc:
        log.info("can't replace a notice whose button was pressed", extra={"detail": exc.detail})


@conversations.once_posted(NewThread)
async def start_thread(deps: Deps, turn: Turn, new: NewThread, ts: str) -> None:
    """Queue the first message of a thread, once; its root was posted as *ts*."""
    if not ts:
        return
    message = InboundMessage(
        team=turn.team, channel=turn.channel, user=turn.user, source="form", text=new.text, ts=ts, is_mention=True,
        thread_ts=new.thread_ts, calls_in=bool(new.thread_ts), parts=new.parts, caused_by=turn.body.starts_by,
        project=turn.project_key,
    )  # fmt: skip
    put = await deps.inbox.put_arrival(
        Arrival(
            inbound=message,
            event=f"root:{turn.id}",
            message=message,
            thread=message.thread,
            condition=Condition.START,
            agent=new.agent,
            is_limited=True,
        )
    )
    match put:
        case Queued() | NotQueued("duplicate" | "deleted" | "edited"):  # someone deleted the question meanwhile
            return
        case NotQueued():
            what, reply = told_of(put)
    to = turn.destination.recipient
    notice = Notice(
        team=turn.team,
        channel=to.channel or turn.user,
        user=turn.user,
        what=what.partition(":")[0],
        reply=reply.stored(),
        thread_ts=new.thread_ts if to.channel == turn.channel else to.thread_ts,
        response_url=to.response_url,
    )
    turn.stage(deps.inbox.queues(notice, why="its question wasn't queued"))


@conversations.button(notices.SLIP_COMMAND, label="button: Use command")
@conversations.button(notices.SLIP_PROJECT, label="button: Use project")
@conversations.button(notices.SLIP_TEXT, label="button: Send as text")
async def slip_settled(deps: Deps, turn: Turn, click: Click) -> Result:
    """Queue what seemed mistyped the way the person chose, once: as the command, for the project, or as text."""
    option, question = await Choices(deps.scripts).picked(turn, click.value), Question(deps, turn, click)
    if option is None or option.message is None:
        return shown(notices.MESSAGE_GONE, "gone")
    message = option.message
    if message.names_project and message.is_direct:
        await remember(deps.scripts, PersonKey(turn.team, turn.user), message.project)
    is_sent = click.action_id != notices.SLIP_COMMAND
    condition = Condition.START if is_sent else Condition.NONE  # a command doesn't start a conversation
    starts = message.is_mention or message.is_direct or message.is_root
    put = await deps.inbox.put_arrival(
        Arrival(
            inbound=message,
            event=f"slip:{turn.id}",
            thread=message.thread,
            in_order=is_sent or message.text == "!new",
            condition=condition if starts else Condition.BOUND,
            is_limited=is_sent,
            writes=question.uses(),  # the first of the two buttons counts
        )
    )
    if put.end == "stale":
        return await question.answered() or shown(notices.already_used(), "already")
    return _put_by_button(put, notices.slip_settled(option.label))


def _put_by_button(put: Put, queued: Reply) -> Outcome:
    """Say what became of a message that a button has put: *queued*, or the reason why it wasn't."""
    match put:
        case Queued() | NotQueued("duplicate"):
            return shown(queued, "queued")
        case NotQueued("full" | "paused" | "muted" as end):
            return shown(told_of(put)[1], end)
        case NotQueued("deleted" | "edited"):
            return shown(notices.MESSAGE_GONE, "gone")
        case _:
            return shown(notices.NO_CONVERSATION, "gone")


async def choose_option(deps: Deps, turn: Turn, click: Click) -> Result:
    """Send the option that the person chose as their message in the thread, once, by the rules of typed replies."""
    thread, question = _thread_of(click), Question(deps, turn, click)
    await check_may_ask(deps, turn, thread)
    set_here = await deps.channels.get(turn.team, turn.channel, with_ids=False)
    is_direct = turn.channel.startswith("D")
    # When it was pressed, as a ts that no other press has.
    milliseconds = round(turn.record.accepted_at.timestamp() * 1000)
    ts = f"{milliseconds // 1000}.{milliseconds % 1000:03}{crc32(turn.id.encode()) % 1000:03}"
    message = InboundMessage(
        team=turn.team, channel=turn.channel, user=turn.user, user_team=click.user_team, is_shared=click.is_shared,
        source="word", text=kit.escape(click.value), ts=ts,
        thread_ts=thread.root, is_direct=is_direct, project=turn.project_key,
    )  # fmt: skip
    put = await deps.inbox.put_arrival(
        Arrival(
            inbound=message,
            event=f"option:{turn.id}",
            thread=thread,
            condition=Condition.BOUND,
            is_limited=True,
            is_auto=not (is_direct or click.is_sure) and (set_here.replies or deps.channels.replies) == "auto",
            why="it was chosen from the agent's options",
            writes=question.uses(),
        )
    )
    if put.end == "stale":
        return await question.answered() or shown(notices.already_used(), "already")
    if put.end == "others":
        return shown(fences.wasnt_asked(click.value, f"{click.message_ts}:{click.action_id}:{click.value}"), "others")
    return _put_by_button(put, fences.answered(click.value, await deps.directory.user_name(turn.user)))


@conversations.button(fences.MEANT, label="button: Send it")
async def option_meant(deps: Deps, turn: Turn, click: Click) -> Result:
    """Press the option that wasn't sent, as its person meant it."""
    ts, action_id, value = (*click.value.replace("option:", "option-", 1).split(":", 2), "", "")[:3]
    await _press(deps, turn, action_id.replace("-", ":"), value, at=_thread_of(click), ts=ts, is_sure=True)
    return shown(notices.SENT_REPLY, "pressed")


for _option in (*fences.CHOSEN, fences.CHOSEN_IN_MENU):
    conversations.button(_option, label="button: Agent's option")(choose_option)


@conversations.button(menu.CHOOSE, label="menu: Choose an agent")
@conversations.button(menu.CHOOSE_MEANT, label="button: Did you mean")
async def choose_agent(deps: Deps, turn: Turn, click: Click) -> Result:
    """Choose the agent for a thread's waiting messages, which gets them now; the first choice wins."""
    wanted = id_of(click.value)
    await check_may_ask(deps, turn, _thread_of(click), wanted)
    chosen = await deps.sessions.choose_agent(_thread_of(click), wanted, project=turn.project_key)
    if chosen != wanted:
        return shown(menu.CHOSEN_BEFORE, "agent was chosen before")
    settings = (await deps.channels.get(turn.team, turn.channel)).of(turn.project_key)
    is_default = settings.agent == chosen
    may_set_default = not is_default and await may_set(deps, turn, turn.channel)
    name = await agent_name(turn, chosen)
    face = await deps.faces.of_one(turn.project, chosen)
    reply = menu.chosen(chosen, name, face=face, may_set_default=may_set_default)
    return Outcome(what="agent chosen", reply=reply, mark=MENU_MARK)  # what waits isn't answered yet


@conversations.button(CHOOSE_FOR, label="menu: Choose an agent")
async def choose_agent_in_home(deps: Deps, turn: Turn, click: Click) -> Result:
    """Choose an agent in the menu of a thread, which is still there, for the person who did so in Home."""
    agent, thread = chosen_for(click.value)
    if shown_at := await deps.sessions.menu_of(thread):
        await _press(deps, turn, menu.CHOOSE, str(agent), at=thread, ts=shown_at)
    return HomeChanged()


@conversations.button(AGAIN, label="button: Send again")
async def send_again_in_home(deps: Deps, turn: Turn, click: Click) -> Result:
    """Press the button of a notice, which is still in its thread; without one, queue the earlier turn again."""
    again, channel, shown_at, root = (*click.value.split(":"), "", "", "")[:4]
    if channel and shown_at:
        await _press(deps, turn, notices.SEND_AGAIN, again, at=ThreadKey(turn.team, channel, root), ts=shown_at)
    else:
        draft = await deps.inbox.drafts.get(again)
        await _check_may_send(deps, turn, draft)
        await deps.inbox.drafts.put(again, by=turn.id, user=turn.user)
    return HomeChanged()


async def _press(
    deps: Deps, turn: Turn, action_id: str, value: str, *, at: ThreadKey, ts: str, is_sure: bool = False
) -> None:
    """Queue a click on a control of the message *ts* in the thread *at*, once. Raises `NotAllowed`."""
    await _check_sees(deps, turn, at.channel)
    press = Click(
        team=turn.team, channel=at.channel, user=turn.user, action_id=action_id, value=value, message_ts=ts,
        thread_ts=at.root, project=turn.project_key, is_sure=is_sure,
    )  # fmt: skip
    await deps.inbox.put(press, event=f"pressed:{turn.id}")


@conversations.button(stops.SEND_WAITING, label="button: Send waiting")
@conversations.button(stops.DISCARD, label="button: Discard waiting")
async def resume(deps: Deps, turn: Turn, click: Click) -> Result:
    """Send the messages waiting after a stopped turn, or discard them."""
    lane, drop = thread_lane(_thread_of(click)), click.action_id == stops.DISCARD
    if not drop:
        await check_may_ask(deps, turn, _thread_of(click))
    count = await deps.inbox.stops.resume(lane, by=turn.id, drop=drop)
    if count is None:
        return shown(stops.NOTHING_HELD, "nothing is held")
    return shown(stops.decided(count, click.value, is_dropped=drop), "dropped" if drop else "resumed")


def _thread_of(click: Click) -> ThreadKey:
    """Return the thread of the message with the button, or the one that this message would start."""
    return ThreadKey(click.team, click.channel, click.thread_ts or click.message_ts)
