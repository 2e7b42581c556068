"""Which words tell what went wrong.

`bridge.errors` has a class for each kind of failure; here each has a sentence, in `_WORDS`. A class
without one takes its base's, which a test forbids. Sentences are plain words: `failure` makes a reply of them, and
whoever puts one elsewhere uses `bridge.slack.blockkit.kit`, which keeps it from being parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from bridge import errors
from bridge.errors import BridgeError
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Reply
from bridge.slack.blockkit.shapes import NAMES_AND_MORE

_SERVICE_DID_NOT_ACCEPT: Final = "The service did not accept this{said}"
_SERVICE_STATUS: Final = "(status {status})."
_STORE_AWAY: Final = (
    "The bridge cannot reach its own store at the moment, so nothing was done. Please try again in a minute."
)
_INPUT_NOT_JSON: Final = "This input isn't JSON, so nothing was started. Line {line}, character {column}: {problem}."
_NOT_ALLOWED: Final = {
    "stranger": "This bridge is only for people of the workspace that it belongs to.",
    "channel": "The bridge is not open in this channel. Please ask whoever runs it to add the channel.",
    "user": "The bridge is not open for you yet. Please ask whoever runs it to add you.",
    "default": "You don't have permission to choose a channel's default agent. Ask your admin to add you.",
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
_BAD_SCHEDULE: Final = {
    "often": "{typed}. A report is daily 09:00, weekdays 08:30, weekly mon 09:00, monthly 1 09:00 or "
    'cron "0 9 * * 1-5"; a time zone, a #channel, --compare 7d and --only runs,tags may follow.',
    "time": "{typed}: the time of day comes here, such as 09:00 or 5:30pm.",
    "weekday": "{typed}: the day of the week comes here, such as mon.",
    "monthday": "{typed}: the day of the month comes here, from 1 to 31, or last.",
    "cron": "{typed}: a cron expression has five fields (minute, hour, day of the month, month, day of the week), "
    'in quotation marks, such as "0 9 * * 1-5", and has to come true one day.',
    "zone": "{typed}: a time zone is written like Europe/Berlin or America/New_York; options begin with --.",
    "channel": "I could not post in {name}: I am not in that channel, or it is archived or not open for me. "
    "Choose one from the list that Slack offers after #, and invite me there with /invite.",
    "name": "I can't find {name} among the channels I'm in. Pick it from the list Slack shows after #, or invite me "
    "there with /invite and try again.",
    "compare": "{typed}: --compare takes a time that has passed since, such as 24h, 7d or 2w, 400 days at most.",
    "only": "{typed}: --only takes any of prompts, runs, versions, categories and tags, with commas between them.",
    "option": "{typed}: the options of a report are --compare 7d and --only runs,tags.",
    "many": "There are as many reports as the bridge keeps. Please delete one first.",
}

_MOST_NAMES: Final = 10


def failure(error: BridgeError, *, audience: Audience = Audience.PRIVATE) -> Reply:
    """Tell what went wrong, and what to do."""
    return kit.reply(sentence(error), audience=audience)


def sentence(error: BridgeError) -> str:
    """Say what went wrong, in plain words that are not escaped yet."""
    return next(_WORDS[base](error) for base in type(error).__mro__ if base in _WORDS)


def worded() -> frozenset[type]:
    """Tell which classes have words of their own."""
    return frozenset(_WORDS)


def _says(text: str) -> Callable[[Any], str]:
    return lambda _error: text


def _circuit_open(error: errors.CircuitOpen) -> str:
    return f"The service is not reachable at the moment. The next try is {_soon(error.retry_in)}."


def _timed_out(error: errors.TimedOut) -> str:
    return f"The service gave no answer within {kit.spoken(error.after)}. It may still be working on it."


def _refused(error: errors.ServiceRefused) -> str:
    said = _quoted(error.said)
    if error.status >= 500:  # noqa: PLR2004 - HTTP's own border between "you" and "I"
        return f"The service had a problem of its own{said or '.'} Please try again in a moment."
    return _SERVICE_DID_NOT_ACCEPT.format(said=said or f" {_SERVICE_STATUS.format(status=error.status)}")


def _not_found(error: errors.NotFound) -> str:
    return f"The service does not know this any more{_quoted(error.said) or '.'}"


def _busy(error: errors.Busy) -> str:
    when = _soon(error.retry_after) if error.retry_after else "in a moment"
    return f"The service is busy{_quoted(error.said) or '.'} Please try again {when}."


def _slack_refused(error: errors.SlackRefused) -> str:
    if error.needed:
        return f"Slack did not allow this: the app needs the permission {kit.one_line(error.needed, 80)}."
    return f"Slack did not allow this ({kit.one_line(error.error, 80)})."


def _unknown_command(error: errors.UnknownCommand) -> str:
    typed = kit.quoted(error.typed, 60)
    if error.nearest:
        return f"I do not know {typed}. Did you mean {' or '.join(error.nearest)}?"
    return f"I do not know {typed}. Try !help."


def _bad_usage(error: errors.BadUsage) -> str:
    return f"Please write it like this: {error.usage}"


def _no_such(error: errors.NoSuch) -> str:
    name = kit.quoted(error.name, 60)
    if error.nearest:
        names = " or ".join(kit.named(near, 80) for near in error.nearest)
        return f"There is no {error.kind} {name}. Did you mean {names}?"
    return f"There is no {error.kind} {name}. The list shows which there are."


def _several_fit(error: errors.SeveralFit) -> str:
    shown = [f"{kit.named(name, 80)} (id {id_})" for id_, name in error.matches[:_MOST_NAMES]]
    names, left = ", ".join(shown), len(error.matches) - _MOST_NAMES
    if left > 0:
        names = NAMES_AND_MORE.format(names=names, count=left)
    return f"Several {error.kind}s fit {kit.quoted(error.name, 60)}: {names}. Please use the id."


def _bad_input(error: errors.BadInput) -> str:
    return _INPUT_NOT_JSON.format(problem=error.problem, line=error.line, column=error.column)


def _bad_schedule(error: errors.BadSchedule) -> str:
    name = kit.quoted(error.typed, 80)
    typed = f"I do not understand {name}" if error.typed else "Something is missing"
    return _BAD_SCHEDULE.get(error.part, _BAD_SCHEDULE["often"]).format(typed=typed, name=name)


def _not_allowed(error: errors.NotAllowed) -> str:
    return _NOT_ALLOWED.get(error.reason, "You may not do this here.")


def _too_often(error: errors.TooOften) -> str:
    why = _TOO_OFTEN.get(error.what, _TOO_OFTEN["person"])
    return f"{why} It goes on {_soon(max(error.wait, timedelta(seconds=1)))}."


def _quoted(said: str) -> str:
    """Quote the service's own message, behind a colon."""
    return f": {kit.quoted(said, 300)}." if kit.one_line(said) else ""


def _soon(wait: timedelta) -> str:
    return f"in {kit.spoken(wait)}"


_WORDS: Final[dict[type, Callable[[Any], str]]] = {
    BridgeError: _says("Sorry, this did not work."),
    errors.ConfigurationError: _says("The bridge is not set up completely. Please tell whoever runs it."),
    errors.ProjectError: _says("The service did not carry this out. Please try again in a moment."),
    errors.CannotConnect: _says("The service is not reachable at the moment. Please try again in a minute."),
    errors.CircuitOpen: _circuit_open,
    errors.TimedOut: _timed_out,
    errors.ConnectionLost: _says("The connection to the service broke off, so it is not known whether this was done."),
    errors.NotUnderstood: _says("The service gave an answer that the bridge does not understand."),
    errors.ServiceRefused: _refused,
    errors.NotSignedIn: _says("The service does not accept the bridge's key. Please tell whoever runs the bridge."),
    errors.NotFound: _not_found,
    errors.Busy: _busy,
    errors.Outage: _says("The service is down at the moment. Please try again in a few minutes."),
    errors.SlackError: _says("Slack did not carry this out. Please try again in a moment."),
    errors.SlackRefused: _slack_refused,
    errors.SlackUnreachable: _says("Slack is not reachable or asks for patience. Please try again in a minute."),
    errors.SlackTokenRefused: _says("Slack no longer accepts my sign-in. Your admin needs to install the app again."),
    errors.SlackAmbiguous: _says("It is not known whether Slack took this. Please look before you try again."),
    errors.SlackGone: _says("The bridge has lost its connection to Slack, and starts again."),
    errors.StoreError: _says(_STORE_AWAY),
    errors.StoreUnavailable: _says(_STORE_AWAY),
    errors.StoreWiped: _says(_STORE_AWAY),
    errors.NamespaceTaken: _says("The bridge's store belongs to another bot. Please tell whoever runs the bridge."),
    errors.LaneLost: _says("Another process of the bridge goes on with this."),
    errors.RecordNotUnderstood: _says("This was kept by another release of the bridge, which cannot be read any more."),
    errors.CommandError: _says("I do not understand this command. Try !help."),
    errors.UnknownCommand: _unknown_command,
    errors.BadUsage: _bad_usage,
    errors.NoSuch: _no_such,
    errors.SeveralFit: _several_fit,
    errors.BadSchedule: _bad_schedule,
    errors.BadInput: _bad_input,
    errors.NotAllowed: _not_allowed,
    errors.TooOften: _too_often,
}
