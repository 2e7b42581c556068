"""The bridge's notices in a conversation: short lines, some with a button."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from bridge.ends import Cure
from bridge.ends.failures import failure, what_happened
from bridge.ends.messages import DEATHS, DECISIONS, ENDS, OTHERS, UNKNOWN, MessageState, Reason
from bridge.ends.refusals import FULL, MISSED, MUTED, ON_ARRIVAL, no_longer, why_not_posted
from bridge.errors import Busy, ProjectError, TooOften
from bridge.inbound import WAITING_LIMIT
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.reply import Audience, Block, Reply

_MOST_LISTED: Final = 15  # lines of help in a group
_NAMED: Final = "Support: how do I …?"
SEND_IT_AGAIN: Final = "Send again"
_WHY: Final = {
    "beginning": "only the beginning of Slack's transcript was sent",
    "broken": "I couldn't find any text in it",
    "cut": "only the first 100 kB were sent",
    "empty": "it has no text, perhaps only pictures",
    "extra": "I can't read PDFs until your admin installs the extra “documents”",
    "full": "a message can hold 200 kB of text, so the rest was left out",
    "gone": "Slack no longer shows it",
    "image": "the agent can't see images, so describe what matters in words",
    "large": "it's larger than 10 MB",
    "link": "it's stored outside Slack, so only its link was sent",
    "locked": "it's password-protected",
    "many": "only the first 5 files of a message are read",
    "names": "agents here get only a file's name and size",
    "off": "files aren't sent to agents here",
    "other": "the agent can't read this kind of file",
    "part": "it's long, so only its beginning was sent",
    "scope": "I can't read files until your admin gives the app the permission files:read",
    "silent": "Slack has no transcript of it, so type what it says",
    "slack": "I couldn't get it from Slack, so send it again or paste its text",
    "slow": "reading it took too long",
    "unfinished": "Slack hasn't transcribed it yet, so send it again in a minute",
    "unknown": "Slack sent a part of it in a form that I can't read, so type what it says",
    "video": "the agent can't watch videos, so describe what matters in words",
}
"""Why a part of a message wasn't sent to the agent."""

_UNDERSTOOD: Final = (
    "Agents can read text, forwarded messages, tables, text files, PDF and Office documents, and clips with a "
    "transcript."
)
MOST_NAMED: Final = 10  # files in a notice
SEND_AGAIN: Final = "turn:again"
SHOW: Final = "turn:show"
NOTIFY: Final = "answer:notify"
"""The button's value is the turn to wait for."""
STOP: Final = "answer:stop"
"""The button's value is the thread and the message to stop."""
SEND_THEM: Final = "offered:send"
SEND_EDITED: Final = "turn:edited"
SEND_REPLY: Final = "reply:send"
SLIP_COMMAND: Final = "slip:command"
SLIP_PROJECT: Final = "slip:project"
SLIP_TEXT: Final = "slip:text"
_BUTTONS: Final[Mapping[Cure, tuple[str, str]]] = {
    "send": ("Send it", SEND_REPLY),
    "again": (SEND_IT_AGAIN, SEND_AGAIN),
    "now": ("Send now", SEND_AGAIN),
    "new text": ("Send new text", SEND_EDITED),
}


_QUEUED: Final = "Queued after any messages already waiting here."
IN_CANVAS: Final = kit.reply(ON_ARRIVAL["canvas"].told)
COMMAND_MISSED: Final = kit.reply(MISSED.told)
THREAD_FULL: Final = kit.reply(FULL.told.format(waiting=WAITING_LIMIT))
ONLY_WORDS: Final = kit.note("A command takes only the words after it. I used nothing else in your message.")
THREAD_MUTED: Final = card(kit.with_code(MUTED.told, "!unmute"))
NO_THREAD_HERE: Final = card(kit.with_code(MessageState.NOT_A_MEMBER.value.said, "/invite"))
SERVICE_DOWN: Final = kit.note(f"⏳ {MessageState.DOWN.value.said}", audience=Audience.THREAD)
SHOWN_AFTER_ALL: Final = kit.note("Shown on request.", audience=Audience.THREAD)
SENT_AGAIN: Final = kit.note(_QUEUED, audience=Audience.THREAD, replaces_original=True)
SENT_EDITED: Final = kit.note(_QUEUED, replaces_original=True)
SENT_REPLY: Final = kit.note("Sent to the agent.", replaces_original=True)
ANSWER_GONE: Final = kit.reply("This answer is no longer available. Ask again to get a new one.")
MESSAGE_GONE: Final = kit.reply("This message is no longer available. Type it again.")
COMMAND_GONE: Final = kit.reply("This command is no longer available. Type it again.")
NO_AGENTS: Final = kit.reply("This project has no agents yet.", audience=Audience.THREAD)
NO_CONVERSATION: Final = kit.reply(
    "There's no conversation here yet. Mention me with a question, or pick an agent if I asked you to."
)
SESSION_RESET: Final = kit.note(
    "The next message starts a new session. The agent won't remember this conversation.", audience=Audience.THREAD
)
MENTION_WITHOUT_TEXT: Final = card(
    kit.rich(
        kit.paragraph("Hello! Mention me with a question, and an agent will answer in a thread."),
        kit.bullets([
            kit.paragraph("To choose an agent, add its name: ", kit.words(_NAMED, code=True)),
            kit.paragraph("In the thread, just keep typing. You only need to mention me if others write there, too."),
            kit.paragraph("In a thread, ", kit.words("!help", code=True), " lists everything you can type."),
        ]),
    )
)  # fmt: skip


def buttons_of(cure: Cure, value: str) -> list[Block]:
    """Return the button of a row of the table (`bridge.ends.End`), if it has one and there's a *value* for it."""
    return [kit.button(*_BUTTONS[cure], value)] if cure and value else []


def of_earlier_release(what: str = "") -> Reply:
    """Return the notice *what* that an earlier release queued; only those that offer to send a text are known."""
    name, _, key = what.partition(":")
    if name in {"edited", "unmentioned"} and key:
        return edited_too_late(key) if name == "edited" else unmentioned(key)
    text = "I had a notice for you, but after an update I can't show it. If it was about a message of yours, use "
    return kit.reply(f"{text}Why no answer? on that message, or type !why and its link.")


def not_posted(error: str, channel: str = "") -> Reply:
    """Say in a direct message that Slack rejected an answer for good with *error*, where it belongs."""
    end = DEATHS["Slack"]
    text = f"⚠️ {end.said.format(refused=why_not_posted(error))} {end.cure}"
    return card(_with_channel(text, channel), audience=Audience.CHANNEL)


def _with_channel(text: str, channel: str) -> Block:
    """Return *text* with a paragraph that names the channel it was for, unless that's a direct message."""
    if not kit.is_channel(channel):
        return kit.rich(kit.paragraph(text))
    return kit.rich(kit.paragraph(text), kit.paragraph("It was for ", kit.place(channel), "."))


class NotRead(NamedTuple):
    """A part of a message that the agent didn't get, or not completely: its *name*, and why, as a key of `_WHY`."""

    why: str
    name: str = ""


def not_read(missing: Sequence[NotRead], *, is_all: bool = False, only_names: bool = False) -> Reply:
    """Say which parts of a message the agent didn't get, and why.

    *is_all*: the message had no other parts, so the agent wasn't asked. *only_names*: the agent got only file names.
    """
    by_reason: dict[str, list[str]] = {}
    for part in missing:
        names = by_reason.setdefault(_WHY.get(part.why, _WHY["slack"]), [])
        names += [kit.named(part.name, 60)] if part.name else []
    reasons = [
        f"{', '.join(names)}: {why}." if names else f"{why[:1].upper()}{why[1:]}." for why, names in by_reason.items()
    ]
    first = "I didn't ask the agent." if is_all else "Not everything in your message reached the agent."
    last = kit.context(_UNDERSTOOD) if only_names and not is_all else None
    if len(reasons) < 2:  # noqa: PLR2004 - a list of one
        return card(kit.context(" ".join([first, *reasons])), last)
    return card(kit.context(first), kit.rich(kit.bullets(map(kit.paragraph, reasons))), last)


def did_you_mean(meant: str, as_meant: str, as_text: str) -> Reply:
    """Ask whether a command (``!stop``) or a project (``@orders``) was *meant*; the others are the buttons' values.

    Until then, nothing is sent.
    """
    meant = kit.one_line(meant, 40)
    use = SLIP_PROJECT if meant.startswith("@") else SLIP_COMMAND
    run, send = kit.button(f"Use {meant}", use, as_meant), kit.button("Send as text", SLIP_TEXT, as_text)
    return card(kit.with_code(f"Did you mean {meant}? Nothing was sent to the agent.", meant), buttons=[run, send])


def slip_settled(meant: str) -> Reply:
    """Replace the question: what was *meant* was used, or (``""``) the message was sent as text."""
    used = f"Sent with {kit.one_line(meant, 40)}." if meant.startswith("@") else f"Ran {kit.one_line(meant, 40)}."
    text = used if meant else "Sent to the agent as text."
    return kit.note(text, replaces_original=True)


def paused(limited: str, wait: timedelta, *, is_first: bool = False) -> Reply:
    """Say that a limit was reached, and how long to wait; a thread's first such notice is for everyone in it."""
    shown_to = Audience.THREAD if is_first and limited == "thread" else Audience.PRIVATE
    return failure(TooOften(limited, wait), audience=shown_to)


def app_paused(name: str) -> Reply:
    """Tell a channel that an app posts too fast."""
    text = Reason.APP_TOO_FAST.meaning.said.format(app=kit.named(name, 80) or "An app")
    return kit.note(text, audience=Audience.CHANNEL)


def not_queued(command: str = "") -> Reply:
    """Say that a *command*, or anything else a person did, couldn't be queued."""
    what = f"{kit.one_line(command, 40)}, so it didn't run" if command else "this, so nothing was done"
    return kit.reply(f"⚠️ {ON_ARRIVAL['not_queued'].said.format(what=what)}")


def outcome_unknown(
    turn: str, error: ProjectError | None = None, agent: str = "", *, is_readable: bool = True
) -> Reply:
    """Say that a message may have reached the *agent*, and why it's unclear; offer to repeat what *is_readable*."""
    who = kit.one_line(agent, 80) or "the agent"
    happened = what_happened(error, who)
    did = "did the work" if error is not None and error.has_answered else "received your message"
    text = UNKNOWN.said.format(happened=f"{happened[:1].upper()}{happened[1:]}", did=did)
    again = buttons_of(UNKNOWN.button, turn) if is_readable else []
    return kit.ask(f"⚠️ {text}", *again, small=UNKNOWN.cure, audience=Audience.THREAD)


def in_doubt(turn: str, channel: str = "") -> Reply:
    """Say that a post may be missing, and offer to show it.

    With *channel*, the missing post is an answer to one person there, who gets this notice as a direct message.
    """
    text = f"⚠️ {ENDS['post in doubt'].said}"
    if channel:
        text = "⚠️ Slack didn't confirm my last answer to you, so it may be missing."
    small = kit.context("If you can see it, there's nothing to do.")
    show = kit.button("Show it", SHOW, turn)
    return card(_with_channel(text, channel), small, buttons=[show], audience=Audience.CHANNEL)


def already_used(who: str = "") -> Reply:
    """Say that a button that acts once was already used, and by whom."""
    return kit.reply(f"{kit.named(who, 80) if who else 'Someone'} already used this button, so nothing more was done.")


def too_old(turn: str, waited_for: timedelta) -> Reply:
    """Say that a message waited too long to be sent unasked, and offer to send it."""
    end = ENDS["too old"]
    text, again = end.said.format(time=kit.spoken(waited_for)), buttons_of(end.button, turn)
    return kit.ask(text, *again, small="Do you still want to send it?", audience=Audience.THREAD)


def discarded(why: str, count: int) -> Reply:
    """Say that *count* waiting messages won't be sent, and *why* (`Inbox.discard_expired`).

    It's ``deleted`` if the thread's first message was, which only the author of the others is told.
    """
    one, several = "This message", f"{count} messages here"
    audience, because = Audience.THREAD, "nobody resumed this thread after it was stopped"
    if why == "deleted":
        one, several = "Your message", f"Your {count} messages"
        audience, because = Audience.PRIVATE, "the thread's first message was deleted"
    elif why == "not chosen":
        because = "nobody picked an agent"
    what = f"{one} wasn't" if count == 1 else f"{several} weren't"
    return kit.note(f"{what} sent to the agent because {because}.", audience=audience)


def author_refused(reason: str, author: str) -> Reply:
    """Say in its thread that a message's *author* lost access while it waited (`Policy.refusal_now`)."""
    why = kit.capitalized(no_longer(reason, author))
    return kit.note(f"{why}, so I didn't act on their message.", audience=Audience.THREAD)


def found_too_old(older_than: timedelta) -> Reply:
    """Offer to send a thread's messages that were found after an outage, too old to be sent unasked."""
    text = f"Messages arrived here while I was offline, and they're more than {kit.spoken(older_than)} old now."
    small = "They weren't sent to the agent."
    return kit.ask(text, kit.button("Send them", SEND_THEM, "offered"), small=small, audience=Audience.THREAD)


def sent_them(count: int) -> Reply:
    """Replace the offer to send messages found late once its button was pressed."""
    text = "Message queued." if count == 1 else f"{kit.counted(count, 'message')} queued in their original order."
    return kit.note(text, audience=Audience.THREAD, replaces_original=True)


def edited_too_late(key: str) -> Reply:
    """Offer to send the new text of the message with this *key*."""
    end = DECISIONS["asked"]
    return kit.ask(end.said, *buttons_of(end.button, key))


def unmentioned(key: str) -> Reply:
    """Say that the agent didn't get the reply with this *key*, and offer to send it."""
    return kit.ask(OTHERS.said, *buttons_of(OTHERS.button, key), small=OTHERS.cure)


def in_line(place: int) -> Reply:
    """Say how many messages are sent before this one: *place* is 2 if one is."""
    return kit.note(f"Your message is {kit.ordinal(place)} in line.")


def waits_for_service(error: ProjectError, next_try: datetime, turn: str, value: str) -> Reply:
    """Say that a message waits for the service, until when, and offer to notify its person, and to stop it."""
    why = "is busy" if isinstance(error, Busy) else "isn't answering"
    text = f"⏳ {MessageState.TRIED_LATER.value.said.format(why=why)}"
    small = kit.trusted_context("Next try: {next_try}", next_try=next_try)
    return card(text, small, buttons=notify_or_stop(turn, value))


def notify_or_stop(turn: str, value: str) -> tuple[Block, Block]:
    """Return the buttons below a message that takes long: *value* is its thread and itself."""
    return kit.button("Notify me", NOTIFY, turn), kit.button("Stop", STOP, value)


def other_project(here: str, wanted: str) -> Reply:
    """Say that a thread keeps its project *here*, although *wanted* was named."""
    here, wanted = kit.named(here, 80), kit.named(wanted, 80)
    return kit.reply(f"This thread is about {here}. To use {wanted}, start a new thread.")


def session_info(agent_name: str, session: int | None, face: str = "") -> Reply:
    """Describe the thread's conversation."""
    what = ", in a new session from the next message on." if session is None else f" in session {session}."
    return kit.reply(f"{kit.with_face(face, kit.named(agent_name, 100))} answers here{what}")


def help_card(
    own: Sequence[tuple[str, str]],
    others: Sequence[tuple[str, str]],
    buttons: Block | None,
    *,
    is_direct: bool = False,
) -> Reply:
    """Show everything that can be typed: a thread's *own* commands, and the *others* with their words.

    The *buttons* below open forms. *is_direct*: it's shown in a direct message, where nobody needs to mention the bot.
    """
    how = "Send me" if is_direct else "Mention me with"
    hello = f"Hello! {how} a question, and an agent will answer in a thread."
    named = kit.paragraph(hello, " To choose the agent, start with its name: ", kit.words(_NAMED, code=True))
    in_thread, anywhere = "In a thread, just keep typing, or use:", "Anywhere, in threads with ! instead of /:"
    groups = [
        kit.rich(kit.paragraph(kit.words(title, bold=True)), *kit.usages(lines[:_MOST_LISTED])["elements"])
        for title, lines in ((in_thread, own), (anywhere, others))
    ]
    return card(kit.rich(named), *groups, kit.context("Add help to a command for details."), buttons)


def help_lines(title: str, lines: Sequence[tuple[str, str]], note: str = "") -> Reply:
    """Show usage lines with their sentences."""
    return card(kit.header(title), kit.usages(lines), kit.context(note) if note else None)
