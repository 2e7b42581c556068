"""The notice that a turn leaves when it's given up: it's queued in the step that makes the turn a dead letter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bridge.ends import notices
from bridge.ends.messages import DEATHS, GIVEN_UP, MessageState
from bridge.ends.refusals import why_not_posted
from bridge.ids import TurnId
from bridge.inbound import KINDS, InboundMessage, Job, Notice, kind_in_words
from bridge.queue.records import OFF, Step, Unreadable, end_of
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Reply


def unfinished(
    turn: str, kind: str, step: str = "", *, command: str = "", is_readable: bool = False, error: str = ""
) -> Reply:
    """Say that the input of *turn* was given up, and what may have happened; offer to repeat it, or to show its result.

    *kind* is the input's, *step* what it had reached, and *command* its command, if it's one. *is_readable*: this
    version can handle it again, or show its result. *error* is Slack's, if Slack refused the menu that asks for an
    agent.
    """
    is_message = kind == "message"
    audience = Audience.THREAD if is_message else Audience.PRIVATE
    end = GIVEN_UP.get(kind) or (None if is_readable or step != "posting" else GIVEN_UP["unreadable"])
    if end:
        return kit.ask(f"⚠️ {end.happened}", small=end.cure, audience=audience)
    if step == "posting":
        return notices.in_doubt(turn).model_copy(update={"audience": audience})
    if step == "sent" and is_message:
        return notices.outcome_unknown(turn, is_readable=is_readable)
    if step == "sent":
        text, small = MessageState.RUN_UNKNOWN.value.said, MessageState.RUN_UNKNOWN.value.cure
    else:
        why = "started several times, never finished" if is_readable else "written by another version of the bridge"
        did = kind_in_words(kind) if issubclass(KINDS.get(kind, InboundMessage), Job) else "your last action"
        what = "this message" if is_message else command or did
        text, small = (GIVEN_UP["menu"] if error else DEATHS[why]).said, ""
        it = "your message" if error else "it"
        left = f"{it} wasn't sent to the agent" if is_message else "nothing was done"
        text = f"{text.format(what=what, refused=why_not_posted(error))}, so {left}."
    again = [kit.button(notices.SEND_IT_AGAIN if is_message else "Try again", notices.SEND_AGAIN, turn)]
    return kit.ask(f"⚠️ {text}", *(again if is_readable else []), small=small, audience=audience)


def notice_left(
    turn: TurnId, body: Mapping[str, Any], step: Step, *, is_readable: bool = True, error: str = ""
) -> Notice | None:
    """Return the notice about a *turn* that's given up at a *step*; None if no one waits for it.

    A notice that can't be shown in its place is repeated once, as a direct message; so is one about a post that Slack
    rejects with *error*. *body* has the fields of the input, as far as they can be read.
    """
    facts = {name: value for name, value in body.items() if isinstance(value, str)}
    team, channel, kind = (facts.get(name, "") for name in ("team", "channel", "kind"))
    user = facts.get("owner", "") if facts.get("app") else facts.get("user", "")
    known = KINDS.get(kind, InboundMessage)  # a later version may have more
    if known.is_unrequested or not (team and (channel or user)):
        return None
    of = facts.get("of", "answer")
    if kind == "notice":
        what, shown = facts.get("what", ""), body.get("reply") or {}
        return Notice.direct(team, user, what, shown, of=of) if what and user and channel != user else None
    if error and step is Step.POSTING:
        what, reply = "not_posted", notices.not_posted(error, channel)
    else:
        command = facts.get("command", "")
        reply = unfinished(turn, kind, step, command=command, is_readable=is_readable, error=error)
        what = "unfinished"
    directly = Notice.direct(team, user, what, reply.stored(), of=of)
    if known.is_of_owner or error:
        return directly if user else None
    place = {
        "channel": facts.get("opened_in") or channel or user,
        "thread_ts": facts.get("thread_ts") or (facts.get("ts", "") if kind == "message" else ""),
        "response_url": facts.get("response_url", ""),
    }
    return directly.model_copy(update=place)


def notice_left_unread(head: Unreadable) -> Notice | None:
    """Return the notice that a turn leaves whose record can't be read, from what can be read of it."""
    fields = head.fields
    if end_of(fields).startswith(OFF):
        return None
    try:
        read = json.loads(fields.get("body", ""))
    except ValueError:
        read = None
    team, channel, root, *_ = [*fields.get("thread", "").split(":"), "", "", ""]
    place = {"team": team, "channel": channel, "thread_ts": root, "kind": fields.get("kind", "message")}
    step = fields.get("step", "")
    return notice_left(
        head.turn,
        {**place, **(read if isinstance(read, dict) else {})},
        Step(step) if step in {Step.SENT, Step.POSTING} else Step.QUEUED,
        is_readable=False,
    )
