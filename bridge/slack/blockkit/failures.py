"""Which words tell what went wrong.

`bridge.errors` has a class for each kind of failure; here each has a sentence of `bridge.words`, in `_WORDS`. A class
without one takes its base's, which a test forbids. Sentences are plain words: `failure` makes a reply of them, and
whoever puts one elsewhere uses `bridge.slack.blockkit.kit`, which keeps it from being parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from bridge import errors, words
from bridge.errors import BridgeError
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Reply

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
    return words.SERVICE_NEXT_TRY.format(when=_soon(error.retry_in))


def _timed_out(error: errors.TimedOut) -> str:
    return words.SERVICE_NO_ANSWER.format(duration=kit.spoken(error.after))


def _refused(error: errors.ServiceRefused) -> str:
    said = _quoted(error.said)
    if error.status >= 500:  # noqa: PLR2004 - HTTP's own border between "you" and "I"
        return words.SERVICE_HAD_A_PROBLEM.format(said=said or ".")
    return words.SERVICE_DID_NOT_ACCEPT.format(said=said or f" {words.SERVICE_STATUS.format(status=error.status)}")


def _not_found(error: errors.NotFound) -> str:
    return words.SERVICE_DOES_NOT_KNOW.format(said=_quoted(error.said) or ".")


def _busy(error: errors.Busy) -> str:
    when = _soon(error.retry_after) if error.retry_after else words.IN_A_MOMENT
    return words.SERVICE_BUSY.format(said=_quoted(error.said) or ".", when=when)


def _slack_refused(error: errors.SlackRefused) -> str:
    if error.needed:
        return words.SLACK_NEEDS.format(needed=kit.one_line(error.needed, 80))
    return words.SLACK_DID_NOT_ALLOW.format(error=kit.one_line(error.error, 80))


def _unknown_command(error: errors.UnknownCommand) -> str:
    typed = kit.quoted(error.typed, 60)
    if error.nearest:
        return words.UNKNOWN_COMMAND_NEAR.format(typed=typed, names=words.either(error.nearest))
    return words.UNKNOWN_COMMAND.format(typed=typed)


def _bad_usage(error: errors.BadUsage) -> str:
    return words.WRITE_IT_LIKE.format(usage=error.usage)


def _no_such(error: errors.NoSuch) -> str:
    name = kit.quoted(error.name, 60)
    if error.nearest:
        names = words.either([kit.named(near, 80) for near in error.nearest])
        return words.NO_SUCH_NEAR.format(kind=error.kind, name=name, names=names)
    return words.NO_SUCH.format(kind=error.kind, name=name)


def _several_fit(error: errors.SeveralFit) -> str:
    shown = [words.NAME_WITH_ID.format(name=kit.named(name, 80), id=id_) for id_, name in error.matches[:_MOST_NAMES]]
    names, left = ", ".join(shown), len(error.matches) - _MOST_NAMES
    if left > 0:
        names = words.NAMES_AND_MORE.format(names=names, count=left)
    return words.SEVERAL_FIT.format(kind=error.kind, name=kit.quoted(error.name, 60), names=names)


def _bad_input(error: errors.BadInput) -> str:
    return words.INPUT_NOT_JSON.format(problem=error.problem, line=error.line, column=error.column)


def _bad_schedule(error: errors.BadSchedule) -> str:
    name = kit.quoted(error.typed, 80)
    typed = words.DO_NOT_UNDERSTAND.format(name=name) if error.typed else words.SOMETHING_IS_MISSING
    return words.BAD_SCHEDULE.get(error.part, words.BAD_SCHEDULE["often"]).format(typed=typed, name=name)


def _not_allowed(error: errors.NotAllowed) -> str:
    return words.NOT_ALLOWED.get(error.reason, words.NOT_ALLOWED_HERE)


def _too_often(error: errors.TooOften) -> str:
    why = words.TOO_OFTEN.get(error.what, words.TOO_OFTEN["person"])
    return words.IT_GOES_ON.format(why=why, when=_soon(max(error.wait, timedelta(seconds=1))))


def _quoted(said: str) -> str:
    """Quote the service's own message, behind a colon."""
    return f": {kit.quoted(said, 300)}." if kit.one_line(said) else ""


def _soon(wait: timedelta) -> str:
    return words.IN.format(duration=kit.spoken(wait))


_WORDS: Final[dict[type, Callable[[Any], str]]] = {
    BridgeError: _says(words.DID_NOT_WORK),
    errors.ConfigurationError: _says(words.NOT_SET_UP),
    errors.ProjectError: _says(words.SERVICE_NOT_CARRIED_OUT),
    errors.CannotConnect: _says(words.SERVICE_NOT_REACHABLE),
    errors.CircuitOpen: _circuit_open,
    errors.TimedOut: _timed_out,
    errors.ConnectionLost: _says(words.SERVICE_BROKE_OFF),
    errors.NotUnderstood: _says(words.SERVICE_NOT_UNDERSTOOD),
    errors.ServiceRefused: _refused,
    errors.NotSignedIn: _says(words.SERVICE_KEY),
    errors.NotFound: _not_found,
    errors.Busy: _busy,
    errors.Outage: _says(words.SERVICE_DOWN),
    errors.SlackError: _says(words.SLACK_NOT_CARRIED_OUT),
    errors.SlackRefused: _slack_refused,
    errors.SlackUnreachable: _says(words.SLACK_NOT_REACHABLE),
    errors.SlackTokenRefused: _says(words.SLACK_SIGN_IN),
    errors.SlackAmbiguous: _says(words.SLACK_NOT_KNOWN),
    errors.SlackGone: _says(words.SLACK_GONE),
    errors.StoreError: _says(words.STORE_AWAY),
    errors.StoreUnavailable: _says(words.STORE_AWAY),
    errors.StoreWiped: _says(words.STORE_AWAY),
    errors.NamespaceTaken: _says(words.STORE_OF_ANOTHER),
    errors.LaneLost: _says(words.ANOTHER_PROCESS),
    errors.RecordNotUnderstood: _says(words.ANOTHER_RELEASE),
    errors.CommandError: _says(words.COMMAND_NOT_UNDERSTOOD),
    errors.UnknownCommand: _unknown_command,
    errors.BadUsage: _bad_usage,
    errors.NoSuch: _no_such,
    errors.SeveralFit: _several_fit,
    errors.BadSchedule: _bad_schedule,
    errors.BadInput: _bad_input,
    errors.NotAllowed: _not_allowed,
    errors.TooOften: _too_often,
}
