"""Where the answer to an input is shown."""

from __future__ import annotations

from bridge.inbound import (
    ApprovedRun,
    Click,
    Inbound,
    InboundMessage,
    Notice,
    Respondable,
    Shortcut,
    StopRequest,
    Submission,
)
from bridge.slack.blockkit.reply import Audience
from bridge.slack.parts import Place
from bridge.slack.post import Recipient

RUN_MARK = "bridge_run"
"""The event type in the metadata of a run's card."""

MENU_MARK = "bridge_menu"
"""The event type in the metadata of a menu that waits for a choice."""


def place_of(body: Inbound, audience: Audience = Audience.CHANNEL) -> Place:
    """Return where a public answer to *body* is posted: its thread, or else its channel or the person's direct message.

    For `Audience.THREAD`, a message outside of a thread starts one.
    """
    match body:
        case InboundMessage():
            return Place(body.channel, body.thread_ts or body.ts)
        case Click() if audience is Audience.THREAD and not body.is_ephemeral:
            return Place(body.channel, body.thread_ts or body.message_ts)
        case Click() | Submission() | Shortcut() if not recipient_of(body).is_reachable:
            return Place(body.user)  # used outside of a channel: the answer is a direct message
        case ApprovedRun(is_outside=True):
            return Place(body.user)
        case Shortcut():
            return Place(body.channel)
        case _:
            return Place(body.channel, getattr(body, "thread_ts", ""))


def is_posted_publicly(body: Inbound, audience: Audience) -> bool:
    """Whether the answer to *body* is posted publicly: a private one is, too, in direct messages and for apps."""
    match body:
        case InboundMessage():
            has_no_one_else = body.is_direct or bool(body.app)
        case Click() | Submission() | Shortcut():
            has_no_one_else = not recipient_of(body).is_reachable
        case _:
            has_no_one_else = body.is_public
    return audience is not Audience.PRIVATE or has_no_one_else


def recipient_of(body: Inbound) -> Recipient:
    """Return the recipient of a private answer to *body*."""
    response_url = body.response_url if isinstance(body, Respondable) else ""
    if isinstance(body, Submission):  # where the form was opened, not where its result is shown
        return Recipient(body.opened_in or body.channel, body.user, "", response_url)
    thread_ts = body.thread_ts if isinstance(body, InboundMessage | Click | StopRequest | Notice) else ""
    if isinstance(body, Shortcut) and body.thread_ts != body.message_ts:  # on a reply, not on the root
        thread_ts = body.thread_ts
    return Recipient(body.channel, body.user, thread_ts, response_url)
