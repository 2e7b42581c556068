"""Where a reply is shown: in which channel and thread, or to whom."""

from __future__ import annotations

from bridge.engine.destination import Destination
from bridge.inbound import Click, Inbound, Notice, Shortcut, SlashCommand, Submission
from bridge.slack.blockkit.reply import Audience, Reply
from bridge.slack.parts import Place
from bridge.slack.post import Recipient
from support.store import CHANNEL, ROOT, TEAM, USER, message, ts
from support.tables import each

ALL, THREAD = Reply(text="x", audience=Audience.CHANNEL), Reply(text="x", audience=Audience.THREAD)
ONE, INSTEAD = Reply(text="x"), Reply(text="x", audience=Audience.CHANNEL, replaces_original=True)
URL = "https://hooks.slack.com/x"
HERE = {"team": TEAM, "channel": CHANNEL, "user": USER}
NOWHERE = {"team": TEAM, "channel": "", "user": USER}
COMMAND = SlashCommand(**HERE, command="/stats", response_url=URL)
CLICK = Click(**HERE, action_id="a", message_ts=ROOT)
HIDDEN = CLICK.model_copy(update={"is_ephemeral": True})
FORM = Submission(**HERE, form="f", opened_in="C0OPENED", thread_ts=ROOT)


@each(
    ("body", "reply", "is_aside", "shown"),
    [
        (message(), ALL, False, Place(CHANNEL, ROOT)),
        (message(ts=ts(1), thread_ts=ROOT), ALL, False, Place(CHANNEL, ROOT)),
        (message(), ONE, False, Recipient(CHANNEL, USER)),
        (message(is_direct=True), ONE, False, Place(CHANNEL, ROOT)),
        (message(app="A0APP"), ONE, False, Place(CHANNEL, ROOT)),
        (message(ts=ts(1), thread_ts=ROOT), ALL, True, Recipient(CHANNEL, USER)),
        (COMMAND, ALL, False, Place(CHANNEL)),
        (COMMAND, ONE, False, Recipient(CHANNEL, USER, "", URL)),
        (CLICK, ALL, False, Place(CHANNEL)),
        (CLICK, THREAD, False, Place(CHANNEL, ROOT)),
        (HIDDEN, THREAD, False, Place(CHANNEL)),
        (FORM, ALL, False, Place(CHANNEL, ROOT)),
        (FORM, ONE, False, Recipient("C0OPENED", USER)),
        (Submission(**NOWHERE, form="f"), ONE, False, Place(USER)),
        (Shortcut(**HERE, name="s", message_ts=ROOT, thread_ts=ROOT), ONE, False, Recipient(CHANNEL, USER)),
        (Shortcut(**HERE, name="s", message_ts=ts(1), thread_ts=ROOT), ONE, False, Recipient(CHANNEL, USER, ROOT)),
        (Notice(**HERE, what="w", thread_ts=ROOT), ONE, False, Recipient(CHANNEL, USER, ROOT)),
    ],
)
def test_destination_of_a_reply(body: Inbound, reply: Reply, shown: Place | Recipient, *, is_aside: bool) -> None:
    found = Destination.of(body, reply, is_aside=is_aside)

    assert (found.place if found.is_public else found.recipient) == shown


def test_only_a_message_for_all_is_edited() -> None:
    assert [Destination.of(body, INSTEAD).edits for body in (CLICK, HIDDEN, COMMAND)] == [ROOT, "", ""]
