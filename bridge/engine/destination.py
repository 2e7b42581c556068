"""Where the answer to an input is shown."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from bridge.inbound import Click, Inbound, InboundMessage, Interaction, Job, Shortcut, Submission
from bridge.slack.blockkit.reply import Audience, Reply
from bridge.slack.parts import Place
from bridge.slack.post import Recipient


@dataclass(frozen=True, slots=True)
class Destination:
    """Where something is shown: if it *is_public*, to everyone in *place*, else only to *recipient*.

    If the bot can't post in its place, it goes by the recipient's response_url. *edits* is the ``ts`` of the message
    that it replaces. If it *is_aside*, the message that it answers is gone.
    """

    place: Place
    recipient: Recipient
    is_public: bool = True
    is_aside: bool = False
    edits: str = ""

    @classmethod
    def of(cls, body: Inbound, reply: Reply | None = None, *, is_aside: bool = False) -> Self:
        """Return where *reply* to an input is shown; without one, where the input is answered publicly."""
        audience = reply.audience if reply else Audience.CHANNEL
        thread, edits, has_no_one_else = getattr(body, "thread_ts", ""), "", body.is_public
        place = Place(body.channel, thread)
        recipient = Recipient(body.channel, body.user, thread, getattr(body, "response_url", ""))
        match body:
            case InboundMessage():
                place = Place(body.channel, thread or body.ts)
                has_no_one_else = body.is_direct or bool(body.app)
            case Click(is_ephemeral=False):
                if audience is Audience.THREAD:  # outside of a thread, it starts one
                    place = Place(body.channel, thread or body.message_ts)
                edits = body.message_ts if reply and reply.replaces_original else ""
            case Submission():  # where the form was opened, not where its result is shown
                recipient = replace(recipient, channel=body.opened_in or body.channel, thread_ts="")
            case Shortcut():
                place = Place(body.channel)
                if thread == body.message_ts:  # on the root
                    recipient = replace(recipient, thread_ts="")
            case Job() if getattr(body, "is_outside", False):
                place = Place(body.user)
        if isinstance(body, Interaction) and not (recipient.channel or recipient.response_url):
            place, has_no_one_else = Place(body.user), True  # used outside of a channel: a direct message
        if is_aside:
            recipient = replace(recipient, channel=body.channel, thread_ts="")
        is_public = not is_aside and (has_no_one_else or audience is not Audience.PRIVATE)
        return cls(place, recipient, is_public, is_aside, edits)
