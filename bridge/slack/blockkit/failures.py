"""Which words tell what went wrong.

`bridge.errors` has a class for each kind of failure; here each has a sentence: in `sentence` where it tells facts, else
in `_SENTENCES`. A class without one takes its base's, which a test forbids. Sentences are plain words: `failure` makes
a reply of them, and whoever puts one elsewhere uses `bridge.slack.blockkit.kit`, which keeps it from being parsed.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from bridge import errors
from bridge.errors import BridgeError
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Reply

_SENTENCES: Final[dict[type, str]] = {
    BridgeError: "Sorry, this did not work.",
    errors.ConfigurationError: "The bridge is not set up completely. Please tell whoever runs it.",
    errors.ProjectError: "The service did not carry this out. Please try again in a moment.",
    errors.CannotConnect: "The service is not reachable at the moment. Please try again in a minute.",
    errors.ConnectionLost: "The connection to the service broke off, so it is not known whether this was done.",
    errors.NotUnderstood: "The service gave an answer that the bridge does not understand.",
    errors.NotSignedIn: "The service does not accept the bridge's key. Please tell whoever runs the bridge.",
    errors.Outage: "The service is down at the moment. Please try again in a few minutes.",
    errors.SlackError: "Slack did not carry this out. Please try again in a moment.",
    errors.SlackUnreachable: "Slack is not reachable or asks for patience. Please try again in a minute.",
    errors.SlackTokenRefused: "Slack no longer accepts my sign-in. Your admin needs to install the app again.",
    errors.SlackAmbiguous: "It is not known whether Slack took this. Please look before you try again.",
    errors.SlackGone: "The bridge has lost its connection to Slack, and starts again.",
    errors.StoreError: (  # and whatever keeps Redis away
        "The bridge cannot reach its own store at the moment, so nothing was done. Please try again in a minute."
    ),
    errors.NamespaceTaken: "The bridge's store belongs to another bot. Please tell whoever runs the bridge.",
    errors.LaneLost: "Another process of the bridge goes on with this.",
    errors.RecordNotUnderstood: "This was kept by another release of the bridge, which cannot be read any more.",
    errors.CommandError: "I do not understand this command. Try !help.",
}
_NOT_ALLOWED: Final = {
    "stranger": "This bridge is only for people of the workspace that it belongs to.",
    "channel": "The bridge is not open in this channel. Please ask whoever runs it to add the channel.",
    "user": "The bridge is not open for you yet. Please ask whoever runs it to add you.",
    "default": "You don't have permission to change who answers in a channel. Ask your admin to add you.",
    "runner": "Running workflows is for certain people only. Please ask whoever runs the bridge to add you.",
    "not_yours": "Only the person who started this can do that.",
    "unknown": "Slack does not tell the bridge who you are here, so it cannot know whether you may do this, and "
    "nothing was done. Please try again in a minute. If it stays like this, ask whoever runs the bridge to check it.",
}
_TOO_OFTEN: Final = {
    "thread": "There were more messages in this thread than the bridge takes in a minute, so it pauses here. "
    "What is written until then does not reach the agent.",
    "person": "These were more messages than the bridge takes from one person in a minute, so this one did not reach "
    "the agent. Please send it again then.",
    "runs": "You have started as many runs as one person may in an hour, so nothing was started.",
}
_EXPECTED: Final = {
    "often": "a schedule, such as every Monday at 09:00",
    "time": "a time, such as 09:00",
    "weekday": "a day of the week, such as Monday",
    "monthday": "a day of the month, such as 1st or last day",
    "cron": "five cron fields that some date matches, such as 0 9 * * 1-5",
    "zone": "a time zone, such as Europe/Berlin",
    "since": "an age or a day, such as 7d or 2026-11-01 (up to 400 days ago)",
}
"""What a part of a schedule, or of `/stats since`, has to be."""

_TAKES: Final = {
    "compare": "--compare takes an age such as 24h, 7d or 2w (up to 400 days).",
    "only": "--only takes any of {choices}, such as runs,tags.",
}
"""What an option of a schedule takes."""

_BAD_SCHEDULE: Final = {
    "times": "A schedule has one time of day, so I can't add {typed}. Schedule another report for that.",
    "channel": "I can't post in {typed}: I'm not a member, or it's archived or not allowed. "
    "Invite me there with /invite, or pick another channel.",
    "name": "I can't find {typed} among the channels I'm in. Pick it from the list Slack shows after #, or invite me "
    "there with /invite and try again.",
    "many": "There are already {limit} reports, which is the limit. Delete one first.",
}

_MOST_NAMES: Final = 10


def failure(error: BridgeError, *, audience: Audience = Audience.PRIVATE) -> Reply:
    """Tell what went wrong, and what to do."""
    return kit.reply(sentence(error), audience=audience)


def sentence(error: BridgeError) -> str:  # noqa: C901, PLR0912 - a case for each failure that has facts to tell
    """Say what went wrong, in plain words that are not escaped yet."""
    match error:
        case errors.CircuitOpen():
            return f"The service is not reachable at the moment. The next try is {_soon(error.retry_in)}."
        case errors.TimedOut():
            return f"The service gave no answer within {kit.spoken(error.after)}. It may still be working on it."
        case errors.NotFound():
            return f"The service does not know this any more{_said(error) or '.'}"
        case errors.Busy():
            when = _soon(error.retry_after) if error.retry_after else "in a moment"
            return f"The service is busy{_said(error) or '.'} Please try again {when}."
        case errors.ServiceRefused() if type(error) not in _SENTENCES:
            if error.status >= 500:  # noqa: PLR2004 - HTTP's own border between "you" and "I"
                return f"The service had a problem of its own{_said(error) or '.'} Please try again in a moment."
            return f"The service did not accept this{_said(error) or f' (status {error.status}).'}"
        case errors.SlackRefused(needed=""):
            return f"Slack did not allow this ({kit.one_line(error.error, 80)})."
        case errors.SlackRefused():
            return f"Slack did not allow this: the app needs the permission {kit.one_line(error.needed, 80)}."
        case errors.UnknownCommand():
            near = f"Did you mean {' or '.join(error.nearest)}?" if error.nearest else "Try !help."
            return f"I do not know {kit.quoted(error.typed, 60)}. {near}"
        case errors.UnknownOption():
            near = f"Did you mean {error.nearest}?" if error.nearest else f"{error.command} help shows what it takes."
            return f"I don't recognize the option {kit.quoted(error.typed, 60)}. {near}"
        case errors.BadUsage():
            return f"Please write it like this: {error.usage}"
        case errors.NoSuch():
            names = " or ".join(kit.named(name, 80) for name in error.nearest)
            hint = f"Did you mean {names}?" if names else "The list shows which there are."
            if error.kind == "app":
                hint = f"{hint if names else ''} Use its app ID (A…), or its name once it has posted here.".lstrip()
            return f"There is no {error.kind} {kit.quoted(error.name, 60)}. {hint}"
        case errors.SeveralFit():
            names = ", ".join(f"{kit.named(name, 80)} (id {id_})" for id_, name in error.matches[:_MOST_NAMES])
            if len(error.matches) > _MOST_NAMES:
                names = f"{names} and {len(error.matches) - _MOST_NAMES} more"
            return f"Several {error.kind}s fit {kit.quoted(error.name, 60)}: {names}. Please use the id."
        case errors.BadInput():
            return f"This input isn't JSON, so nothing was started. {where_json_breaks(error)}"
        case errors.BadSchedule():
            return _bad_schedule(error)
        case errors.NotAllowed():
            return _NOT_ALLOWED.get(error.reason, "You may not do this here.")
        case errors.TooOften():
            why = _TOO_OFTEN.get(error.what, _TOO_OFTEN["person"])
            return f"{why} It goes on {_soon(max(error.wait, timedelta(seconds=1)))}."
        case _:
            return next(_SENTENCES[base] for base in type(error).__mro__ if base in _SENTENCES)


def _bad_schedule(error: errors.BadSchedule) -> str:
    typed = kit.quoted(error.typed, 80) if error.typed or error.part != "channel" else "this channel"
    if error.part in _BAD_SCHEDULE:
        return _BAD_SCHEDULE[error.part].format(typed=typed, limit=error.typed)
    if error.part == "option":
        near = f"Did you mean {' or '.join(error.choices)}?" if error.choices else "A report has --compare and --only."
        return f"I don't recognize the option {typed}. {near}"
    if error.part == "zone" and error.choices:
        return f"I don't recognize the time zone {typed}. Did you mean {' or '.join(error.choices)}?"
    if error.part in _TAKES:
        choices = " and ".join([", ".join(error.choices[:-1]), *error.choices[-1:]])
        takes = _TAKES[error.part].format(choices=choices)
        return f"I don't understand {typed}: {takes}" if error.typed else f"The option {takes}"
    expected = _EXPECTED.get(error.part, _EXPECTED["often"])
    return f"I don't understand {typed}: expected {expected}." if error.typed else f"Add {expected}."


def where_json_breaks(error: errors.BadInput) -> str:
    """Say where typed JSON is broken, and how."""
    return f"Line {error.line}, character {error.column}: {error.problem}."


def _said(error: errors.ServiceRefused) -> str:
    """Quote the service's own message, behind a colon."""
    return f": {kit.quoted(error.said, 300)}." if kit.one_line(error.said) else ""


def _soon(wait: timedelta) -> str:
    return f"in {kit.spoken(wait)}"
