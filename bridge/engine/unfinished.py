"""The notice that a turn leaves when it's given up: it's queued in the step that makes the turn a dead letter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from bridge.engine import notices
from bridge.ids import TurnId
from bridge.inbound import KINDS, InboundMessage, Notice
from bridge.queue.records import Step, Unreadable
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Reply

_SCHEDULED: Final = {
    "scheduled": "a scheduled question or run",
    "scheduled_run": "a scheduled run",
    "approved_run": "an approved run",
}


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
    if kind == "report":
        text = "⚠️ I couldn't finish posting a scheduled report, so it may be missing."
        return kit.ask(text, small="To post it again, open /stats reports.", audience=audience)
    if kind == "alert":
        text = "⚠️ I couldn't finish posting an alert, so it may be missing."
        return kit.ask(text, small="To see which ones are on, open /stats alerts.", audience=audience)
    if step == "posting" and is_readable:
        return notices.in_doubt(turn).model_copy(update={"audience": audience})
    if step == "posting":
        text = "⚠️ I have an answer, but another version of the bridge saved it, and I can't show it."
        return kit.ask(text, small="Ask again to get a new one.", audience=audience)
    if step == "sent" and is_message:
        text, small = notices.MAY_HAVE_ARRIVED, notices.MAY_REPEAT
    elif step == "sent":
        text, small = "⚠️ No result came back, and I can't tell whether this ran.", notices.MAY_REPEAT
    else:
        small, action = "", command or _SCHEDULED.get(kind, "your last action")
        what = "this message" if is_message else action
        text = f"⚠️ I couldn't handle {what}, even after several attempts"
        if error:
            text = f"⚠️ I couldn't ask which agent should answer: {notices.why_not_posted(error)}"
        elif not is_readable:
            text = f"⚠️ Another version of the bridge saved {what}, and I can't read it"
        text += ", so it wasn't sent to the agent." if is_message else ", so nothing was done."
    again = [kit.button(notices.SEND_IT_AGAIN if is_message else "Try again", notices.SEND_AGAIN, turn)]
    return kit.ask(text, *(again if is_readable else []), small=small, audience=audience)


def notice_left(
    turn: TurnId, body: Mapping[str, Any], step: Step, *, is_readable: bool = True, error: str = ""
) -> Notice | None:
    """Return the notice about a *turn* that's given up at a *step*; None if no one waits for it.

    A notice that can't be shown in its place is repeated once, as a direct message; so is one about a post that Slack
    rejects with *error*. *body* has the fields of the input, as far as they can be read.
    """
    given = {name: value for name, value in body.items() if isinstance(value, str)}
    team, channel, kind = (given.get(name, "") for name in ("team", "channel", "kind"))
    user = given.get("owner", "") if given.get("app") else given.get("user", "")
    known = KINDS.get(kind, InboundMessage)  # a later version may have more
    if known.is_unrequested or not (team and (channel or user)):
        return None
    of = given.get("of", "answer")
    if kind == "notice":
        what, shown = given.get("what", ""), body.get("reply") or {}
        return Notice.direct(team, user, what, shown, of=of) if what and user and channel != user else None
    if error and step is Step.POSTING:
        what, reply = "not_posted", notices.not_posted(error, channel)
    else:
        command = given.get("command", "")
        reply = unfinished(turn, kind, step, command=command, is_readable=is_readable, error=error)
        what = "unfinished"
    directly = Notice.direct(team, user, what, reply.stored(), of=of)
    if known.is_of_owner or error:
        return directly if user else None
    place = {
        "channel": given.get("opened_in") or channel or user,
        "thread_ts": given.get("thread_ts") or (given.get("ts", "") if kind == "message" else ""),
        "response_url": given.get("response_url", ""),
    }
    return directly.model_copy(update=place)


def notice_left_unread(head: Unreadable) -> Notice | None:
    """Return the notice that a turn leaves whose record can't be read, from what can be read of it."""
    fields = head.fields
    if "withdrawn" in fields or "stopped" in fields:
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
