"""What each class of `bridge.errors` means for the message or the command that it ends: a row by its name.

What depends on the error's facts is said by `bridge.slack.blockkit.failures`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bridge.ends import End
from bridge.ends.refusals import NOT_ALLOWED, TOO_FAST

AGAIN: Final = "Send it again if you still need an answer."
_TELL: Final = "Let your admin know."
DELETED: Final = End("This message was deleted, so no answer is shown.", "Write it again if you need one.")
_FAILED: Final = End("The project service couldn't handle this message{cause}.", AGAIN)
_ANSWERED_BADLY: Final = End(
    "The agent or its service answered with an error{cause}.", "Change the message and try again, or ask your admin."
)
_DOWN: Final = End("The project service was unavailable{cause}.", "Send it again in a minute.")
_SLACK: Final = End("Slack couldn't do this{cause}.", "Try again in a moment, or ask your admin.")
_BROKEN: Final = End("The bridge couldn't handle this message.", "Try again in a moment, or ask your admin.")
WRONG_ADDRESS: Final = "check PROJECT_BASE_URL: it's the service's own address, such as https://project.example.com"
_INCOMPLETE: Final = "no complete answer ({detail})"
_UNAVAILABLE: Final = "the service is unavailable ({message})"
_SORRY: Final = "Sorry, that didn't work. Try again in a moment."
_NO_STORE: Final = "The bridge's database is unavailable, so nothing was done. Try again in a minute."
_TYPED: Final = End("I couldn't carry out this command as it was typed.", "My reply says what to change.")

FAILURES: Final[Mapping[str, End]] = {
    "BridgeError": _BROKEN.called("failed", _SORRY),
    "ConfigurationError": _BROKEN.called("settings are missing", f"The bridge isn't fully set up. {_TELL}"),
    "ProjectError": _FAILED.called(
        "the service failed", "The project service couldn't do this. Try again in a moment.",
        checked="the request failed ({message})",
    ),
    "CannotConnect": _DOWN.called(
        "the service is unreachable", "The project service is unavailable. Try again in a minute.",
        checked="can't connect ({why})",
        mend="make sure the service is running and PROJECT_BASE_URL and the proxy (HTTPS_PROXY) are right",
    ),
    "CircuitOpen": _DOWN.called("the service is down", checked="skipped: the service failed too often just now"),
    "TimedOut": _FAILED.called("the service timed out", checked=_INCOMPLETE),
    "ConnectionLost": _FAILED.called("the connection to the service was lost", checked=_INCOMPLETE),
    "NotUnderstood": _ANSWERED_BADLY.called(
        "the service sent an unreadable response", checked="unexpected response: {detail}",
        mend="PROJECT_BASE_URL may point to another service, or the service has a bug",
    ),
    "ServiceRefused": _ANSWERED_BADLY.called("the service refused it", checked="the request was refused ({message})"),
    "Forbidden": End(
        "The project service doesn't let the bridge do this{cause}.", _TELL, word="the service doesn't allow it",
        checked="the key isn't allowed to do this ({message})", mend="allow it for this project's key",
    ),
    "NotSignedIn": End(
        "The project service rejected the bridge's key{cause}.", _TELL, word="the service rejected the key",
        checked="the key was rejected ({message})", mend="copy this project's PROJECT_API_KEY again",
    ),
    "NotFound": End(
        "The project service no longer has the agent or workflow that this message was for{cause}.",
        "Pick another one, or ask your admin.", word="not found by the service",
        checked="nothing found at this address ({message})", mend=WRONG_ADDRESS,
    ),
    "Busy": End("The project service was busy{cause}.", AGAIN, word="the service is busy", checked=_UNAVAILABLE),
    "Outage": _DOWN.called(
        "the service is down", "The project service is unavailable. Try again in a few minutes.", checked=_UNAVAILABLE,
    ),
    "Moved": End(
        "The project service's address leads elsewhere{cause}.", "Ask your admin to check it.",
        word="the service's address redirects",
        checked="the address redirects {where} ({status}), and the key isn't sent along", mend=WRONG_ADDRESS,
    ),
    "SlackError": _SLACK.called("Slack failed", "Slack couldn't do this. Try again in a moment."),
    "SlackRefused": _SLACK.called("Slack refused it"),
    "SlackTokenRefused": _SLACK.called(
        "Slack rejected the token", "Slack no longer accepts my credentials. Ask your admin to reinstall the app."
    ),
    "SlackUnreachable": _SLACK.called(
        "Slack is unreachable", "Slack is unreachable or rate-limiting us. Try again in a minute."
    ),
    "SlackAmbiguous": _SLACK.called(
        "unknown whether Slack received it", "I can't tell whether Slack received this. Check before you try again."
    ),
    "ThreadGone": DELETED.called(
        "the thread was deleted", "The thread's first message was deleted, so I couldn't post there."
    ),
    "SlackGone": _SLACK.called(
        "the connection to Slack was lost", "The bridge lost its connection to Slack and is restarting."
    ),
    "StoreError": _BROKEN.called("Redis failed", _NO_STORE),
    "StoreUnavailable": _BROKEN.called("Redis is unreachable", _NO_STORE),
    "StoreWiped": _BROKEN.called("Redis was wiped", _NO_STORE),
    "NamespaceTaken": _BROKEN.called(
        "the namespace belongs to another bot", f"The bridge's database belongs to another bot. {_TELL}"
    ),
    "LaneLost": _BROKEN.called(
        "another process took over", "Another bridge process is handling this. You don't need to do anything."
    ),
    "RecordNotUnderstood": _BROKEN.called(
        "written by another version", f"Another version of the bridge saved this data, and I can't read it. {_TELL}"
    ),
    "ControlNotUnderstood": _BROKEN.called(
        "made by another version",
        "Another version of the bridge made this, and I can't read it, so nothing was done. Use a newer message, or "
        "type the command.",
    ),
    "ProjectRemoved": End(
        "The project that this message was for was removed.", "Ask your admin which project to use.",
        word="the project was removed",
    ),
    "CommandError": _TYPED.called("not recognized", _SORRY),
    "ProjectNotChosen": End(
        "I asked which project this message is for.", "Choose one below my question.",
        word="asked which project", said="Which project is this about?",
    ),
    "UnknownCommand": _TYPED.called("no such command"),
    "UnknownOption": _TYPED.called("no such option"),
    "BadUsage": _TYPED.called("wrong usage"),
    "NoSuch": _TYPED.called("no match"),
    "SeveralFit": _TYPED.called("several matches"),
    "NotSure": _TYPED.called("asked which was meant"),
    "BadSchedule": _TYPED.called("schedule or time not accepted"),
    "BadAlert": _TYPED.called("alert not accepted"),
    "BadInput": _TYPED.called("input isn't valid JSON; asked what to do"),
    "NotAllowed": NOT_ALLOWED,
    "TooOften": TOO_FAST,
    "TooManyRequests": End(
        "Too many requests are waiting for approval, so I didn't ask for this one.",
        "Ask again when some of them are decided.", is_public=False, word="too many requests for approval",
        said="Too many requests are waiting for approval. Ask again when some of them are decided.",
    ),
}  # fmt: skip
"""Each class; tests derive them from the source."""

_REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    "channel_not_found": ("I'm not in the channel, or it no longer exists", "I'm no longer in its channel"),
    "ekm_access_denied": ("your organization's admins have suspended posting", ""),
    "is_archived": ("the channel is archived", "its channel is archived"),
    "missing_scope": ("the app is missing a permission", "the app is missing a permission"),
    "not_in_channel": ("I'm not in the channel", "I'm no longer in its channel"),
    "restricted_action": ("I'm not allowed to post in the channel", "I'm not allowed to post in its channel"),
    "restricted_action_non_threadable_channel": ("the channel doesn't allow replies in threads", ""),
    "restricted_action_read_only_channel": ("the channel is read-only", ""),
    "restricted_action_thread_locked": ("the thread is locked", ""),
    "restricted_action_thread_only_channel": ("the channel only allows replies in threads", ""),
}
"""Why Slack rejects a post for good, by its error: a reply, and what was set up earlier."""


def why_not_posted(error: str) -> str:
    """Say in a phrase why Slack rejects a reply with *error*; ``""`` if that's not known."""
    base = "restricted_action" if error.startswith("restricted_action") else error
    return _REFUSED.get(error, _REFUSED.get(base, ("",)))[0]


def why_no_longer_posted(error: str) -> str:
    """The same of what was set up in a channel earlier."""
    return _REFUSED.get(error, ("", ""))[1]
