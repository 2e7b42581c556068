"""What each class of `bridge.errors` means: for a person, for their message, and for operators. A row by its name.

A test ensures that no class is missing. Sentences are plain text: `failure` makes a reply of one, and
`bridge.slack.blockkit.kit` escapes it elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from bridge import errors
from bridge.ends import End, typed
from bridge.ends.refusals import NOT_ALLOWED, PERMISSIONS, THREAD_TOO_FAST, TOO_FAST
from bridge.errors import BridgeError
from bridge.slack.api import CALL_SECONDS
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.reply import Audience, Reply

AGAIN: Final = "Send it again if you still need an answer."
DELETED: Final = End("This message was deleted, so no answer is shown.", "Write it again if you need one.")
_TWO_MINUTES: Final = 120  # seconds

_CHANGES: Final = {
    "send_message": ("your message", "Change it and try again, or ask your admin."),
    "run_workflow": ("this run", "Check your input and try again, or ask your admin."),
}
"""The operations that may have an effect: what they send, and what helps if that's why they were rejected."""

_BY_CONTENT: Final = (400, 413, 414, 422)
"""The statuses of a request that was rejected for what was sent."""

_NOT_NOW: Final = (408, 409, 423, 425)
_NOT_OFFERED: Final = (405, 406, 411, 415, 421, 426, 501, 505)
"""The statuses of a service, or another one at its address, that works differently."""

_ITEMS: Final = {"send_message": "agent", "get_agent": "agent", "run_workflow": "workflow", "get_workflow": "workflow"}
_LISTS: Final = {
    "get_agents": "agents",
    "get_workflows": "workflows",
    "get_project": "project details",
    "get_stats": "statistics",
}
"""What each operation reads."""

_TOO_OFTEN: Final = {
    "thread": THREAD_TOO_FAST.said,
    "person": TOO_FAST.said,
    "runs": "You've reached your hourly limit of workflow runs, so nothing was started. Try again {soon}.",
}
_TELL: Final = "Let your admin know."
_FAILED: Final = End("The project service couldn't handle this message{cause}.", AGAIN)
_ANSWERED_BADLY: Final = End(
    "The agent or its service answered with an error{cause}.", "Change the message and try again, or ask your admin."
)
_DOWN: Final = End("The project service was unavailable{cause}.", "Send it again in a minute.")
_SLACK: Final = End(
    "Slack couldn't do this{cause}.", "Try again in a moment, or ask your admin.",
    checked="Slack sent an unexpected response ({detail})", mend="run the check again; see https://slack-status.com",
)  # fmt: skip
_BROKEN: Final = End("The bridge couldn't handle this message.", "Try again in a moment, or ask your admin.")
_WRONG_ADDRESS: Final = "check PROJECT_BASE_URL: it's the service's own address, such as https://project.example.com"
_UNREACHABLE: Final = {
    "checked": "can't connect ({why})",
    "mend": "make sure this machine can reach Slack, directly or through a proxy (HTTPS_PROXY)",
}
NOT_SLACK: Final = "check SLACK_API_URL (normally not set) and the proxy, if there is one (HTTPS_PROXY)"
_NO_CONNECTION: Final = {
    "ClientConnectorError": "connection refused or host unreachable",
    "ClientConnectorDNSError": "host name not found",
    "ClientConnectorCertificateError": "its TLS certificate isn't trusted",
    "ClientConnectorSSLError": "TLS failed",
    "ClientProxyConnectionError": "the proxy is unreachable",
    "ClientHttpProxyError": "the proxy refused",
    "ConnectionTimeoutError": "timed out",
    "TimeoutError": "timed out",
}
_INCOMPLETE: Final = "no complete answer ({detail})"
_UNAVAILABLE: Final = "the service is unavailable ({message})"
_SORRY: Final = "Sorry, that didn't work. Try again in a moment."
_NO_STORE: Final = "The bridge's database is unavailable, so nothing was done. Try again in a minute."


def _slack_refused(error: errors.SlackRefused) -> str:
    if error.needed:
        return f"The app needs the permission {kit.one_line(error.needed, 80)}. Ask your admin to add it."
    return f"Slack didn't allow this ({kit.one_line(error.error, 80)}). Ask your admin to check the app's access."


def _too_often(error: errors.TooOften) -> str:
    why = _TOO_OFTEN.get(error.what, TOO_FAST.said)
    if error.limit:
        done = "started" if error.about.startswith("workflow ") else "sent"
        why = f"{error.limit[0].upper()}{error.limit[1:]} is used up, so nothing was {done}. Try again {{soon}}."
    return why.replace("{soon}", _soon(max(error.wait, timedelta(seconds=1))))


def _timed_out(error: errors.TimedOut) -> str:
    working = ", but may still be working on this. Check before you try again."
    rest = working if error.operation in _CHANGES else ". Try again in a minute."
    return f"The project service timed out after {kit.spoken(error.after)}{rest}"


def _lost(error: errors.ConnectionLost) -> str:
    unsure = ", and I can't tell whether this was done. Check before you try again."
    rest = unsure if error.operation in _CHANGES else ". Try again in a moment."
    return f"The connection to the project service broke{rest}"


def _not_understood(error: errors.NotUnderstood) -> str:
    if error.message:
        return f"The project service reported a problem{_message(error)} Try again in a moment, or ask your admin."
    size = f" {error.problem}, which" if error.problem.startswith("larger") else ""
    sent = f"The project service sent a response{size} I couldn't read"
    return f"{sent}. Try again, and tell your admin if it keeps happening."


def _moved(error: errors.Moved) -> str:
    if error.to:
        return f"The project service has moved to {kit.one_line(error.to, 300)}. Ask your admin to set that address."
    return f"The project service's address leads elsewhere ({error.status}). Ask your admin to check it."


def _not_found(error: errors.NotFound) -> str:
    message, item = _message(error), _ITEMS.get(error.operation)
    if error.is_page:
        return f"The project service's address shows a web page ({error.status}). Ask your admin to check the address."
    if error.has_item:
        but = f"but answered “not found”{message or f' ({error.status}).'}"
        return f"The project service has this {item}, {but} Let your admin know."
    if item:
        return f"The project service no longer has this {item}{message or '.'} Pick another one."
    what = _LISTS.get(error.operation, "data")
    return f"The project service has no {what} ({error.status}){message or '.'} Let your admin know."


def _refused(error: errors.ServiceRefused) -> str:
    """Say why the service refused what was sent, and what helps if that may be the cause."""
    what, cure = _CHANGES.get(error.operation, ("this", "Let your admin know."))
    status, why = error.status, _message(error) or f" (status {error.status})."
    if status in _NOT_OFFERED:
        return f"The project service doesn't offer this{why} Ask your admin to check its address and version."
    if status in _NOT_NOW:
        return f"The project service couldn't do this now{why} Try again in a moment, or ask your admin."
    if not 400 <= status < 600:  # noqa: PLR2004 - HTTP's own borders
        return f"The project service sent an unexpected answer{why} Let your admin know."
    if status >= 500:  # noqa: PLR2004
        return f"The project service had an internal problem{_message(error) or '.'} Try again in a moment."
    return f"The project service rejected {what}{why} {cure if status in _BY_CONTENT else 'Ask your admin.'}"


def _message(error: errors.ServiceRefused | errors.NotUnderstood) -> str:
    """Quote the service's own message after a colon, without a second period."""
    message = kit.one_line(error.message).rstrip(". ")
    return f": {kit.quoted(message, 300)}." if message else ""


def _soon(wait: timedelta | None) -> str:
    """Write when to try again, in whole minutes if it's longer than two."""
    if not wait:
        return "in a moment"
    seconds = math.ceil(wait.total_seconds())
    if seconds > _TWO_MINUTES:
        seconds = 60 * math.ceil(seconds / 60)
    return f"in {kit.spoken(timedelta(seconds=seconds))}"


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
    "CircuitOpen": _DOWN.called(
        "the service is down", checked="skipped: the service failed too often just now",
        says=lambda error: (
            FAILURES["NotSignedIn"].told
            if error.rejects_key
            else f"The project service is unavailable. Try again {_soon(error.retry_in)}."
        ),
    ),
    "TimedOut": _FAILED.called("the service timed out", checked=_INCOMPLETE, says=_timed_out),
    "ConnectionLost": _FAILED.called("the connection to the service was lost", checked=_INCOMPLETE, says=_lost),
    "NotUnderstood": _ANSWERED_BADLY.called(
        "the service sent an unreadable response", checked="unexpected response: {detail}",
        mend="PROJECT_BASE_URL may point to another service, or the service has a bug", says=_not_understood,
    ),
    "ServiceRefused": _ANSWERED_BADLY.called(
        "the service refused it", checked="the request was refused ({message})", says=_refused,
    ),
    "Forbidden": End(
        "The project service doesn't let the bridge do this{cause}.", _TELL, word="the service doesn't allow it",
        checked="the key isn't allowed to do this ({message})", mend="allow it for this project's key",
        says=_refused,
    ),
    "NotSignedIn": End(
        "The project service rejected the bridge's key{cause}.", _TELL, word="the service rejected the key",
        checked="the key was rejected ({message})", mend="copy this project's PROJECT_API_KEY again",
    ),
    "NotFound": End(
        "The project service no longer has the agent or workflow that this message was for{cause}.",
        "Pick another one, or ask your admin.", word="not found by the service",
        checked="nothing found at this address ({message})", mend=_WRONG_ADDRESS, says=_not_found,
    ),
    "Busy": End(
        "The project service was busy{cause}.", AGAIN, word="the service is busy", checked=_UNAVAILABLE,
        says=lambda error: (
            f"The project service is busy{_message(error) or '.'} Try again {_soon(error.retry_after)}."
        ),
    ),
    "Outage": _DOWN.called(
        "the service is down", "The project service is unavailable. Try again in a few minutes.", checked=_UNAVAILABLE,
    ),
    "Moved": End(
        "The project service's address leads elsewhere{cause}.", "Ask your admin to check it.",
        word="the service's address redirects",
        checked="the address redirects {where} ({status}), and the key isn't sent along", mend=_WRONG_ADDRESS,
        says=_moved,
    ),
    "SlackError": _SLACK.called("Slack failed", "Slack couldn't do this. Try again in a moment."),
    "SlackRefused": _SLACK.called(
        "Slack refused it", checked="rejected by Slack ({detail})", mend="", says=_slack_refused,
    ),
    "SlackTokenRefused": _SLACK.called(
        "Slack rejected the token", "Slack no longer accepts my credentials. Ask your admin to reinstall the app.",
        **_UNREACHABLE,
    ),
    "SlackUnreachable": _SLACK.called(
        "Slack is unreachable", "Slack is unreachable or rate-limiting us. Try again in a minute.", **_UNREACHABLE
    ),
    "SlackAmbiguous": _SLACK.called(
        "unknown whether Slack received it", "I can't tell whether Slack received this. Check before you try again."
    ),
    "ThreadGone": DELETED.called(
        "the thread was deleted", "The thread's first message was deleted, so I couldn't post there.",
        checked=_SLACK.checked, mend=_SLACK.mend,
    ),
    "SlackGone": _SLACK.called(
        "the connection to Slack was lost", "The bridge lost its connection to Slack and is restarting.",
        checked="{detail}", mend="restart the bridge, and see https://slack-status.com",
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
        says=lambda error: (
            f"I'm no longer connected to the project {kit.named(error.id, 80)}. Ask your admin to add it back."
        ),
    ),
    "CommandError": typed.NOT_DONE.called("not recognized", _SORRY),
    "ProjectNotChosen": End(
        "I asked which project this message is for.", "Choose one below my question.",
        word="asked which project", said="Which project is this about?",
    ),
    **typed.FAILURES,
    "NotAllowed": replace(
        NOT_ALLOWED, says=lambda error: error.explanation or (PERMISSIONS.get(error.reason) or NOT_ALLOWED).told
    ),
    "TooOften": replace(TOO_FAST, says=_too_often),
    "TooManyRequests": End(
        "Too many requests are waiting for approval, so I didn't ask for this one.",
        "Ask again when some of them are decided.", is_public=False, word="too many requests for approval",
        says=lambda error: (
            "Too many of your requests are waiting for approval. "
            f"Withdraw some with {kit.command('/approvals')}, then ask again."
            if error.what == "person"
            else "Too many requests are waiting for approval. Ask again when some of them are decided."
        ),
    ),
}  # fmt: skip
"""Each class; tests derive them from the source."""


def sentence(error: BridgeError) -> str:
    """Say what went wrong, in plain text that isn't escaped."""
    row = FAILURES[type(error).__name__]
    return row.says(error) if row.says else row.told


def checked(error: errors.ProjectError | errors.SlackError) -> tuple[str, str]:
    """Say to operators what's wrong, and what helps, or ``""`` if that depends on what was checked."""
    row = FAILURES[type(error).__name__]
    detail, mend = row.checked, row.mend
    match error:
        case errors.NotUnderstood(problem=problem) if problem.startswith("not JSON but text/html"):
            detail, mend = "got a web page instead of JSON ({detail})", _WRONG_ADDRESS
        case errors.NotFound(is_page=True):
            detail = "the address shows a web page ({message})"
        case errors.Moved(to=to) if to:
            mend = f"set PROJECT_BASE_URL to {to}"
        case errors.SlackRefused(error=word) if word.startswith("http_"):
            detail = f"the address sends a redirect ({word.removeprefix('http_')}), which Slack never does"
            mend = NOT_SLACK
        case errors.SlackRefused(needed=scope) if scope:
            detail = f"rejected by Slack: the token lacks the scope {scope}"
        case errors.SlackUnreachable(retry_after=timedelta()):
            detail, mend = "Slack is rate-limiting this app", "wait a minute and run the check again"
        case errors.SlackAmbiguous() if error.detail.endswith("TimeoutError"):
            detail = f"Slack timed out: no answer within {CALL_SECONDS:g} s"
            mend = "run the check again; if it still times out, see https://slack-status.com and check the network"
        case errors.SlackAmbiguous() if ", not " in error.detail:
            detail, mend = "the response didn't come from Slack ({detail})", NOT_SLACK
    message = str(error)
    if isinstance(error, errors.ServiceRefused):  # the service's message, which the client has cut and cleaned
        message = f"{error.status}: “{error.message}”" if error.message else str(error.status)
    facts = {
        "message": message, "detail": error.detail, "why": _NO_CONNECTION.get(error.detail, error.detail),
        "status": getattr(error, "status", ""),
        "where": f"to {error.to}" if isinstance(error, errors.Moved) and error.to else "elsewhere",
    }  # fmt: skip
    return detail.format_map(facts), mend


def failure(error: BridgeError, *, audience: Audience = Audience.PRIVATE) -> Reply:
    """Make a reply that says what went wrong and what to do, with a button if there's a form."""
    text = sentence(error)
    if not isinstance(error, errors.CommandError | errors.NotAllowed | errors.TooOften):  # it isn't the person's doing
        text = f"⚠️ {text}"
    codes: tuple[str, ...] = ()  # commands that the sentence suggests
    match error:
        case errors.UnknownCommand():
            codes = error.nearest
        case errors.UnknownOption():
            codes = (error.nearest or f"{error.command} help",)
        case errors.BadUsage():
            codes = (error.usage, *filter(None, [error.example]))
        case errors.NoSuch(nearest=(), lists=str() as lists) if lists:
            codes = (lists,)
        case errors.BadAlert() | errors.BadSchedule() | errors.CannotSetUp():
            near = getattr(error, "near", "") or typed.NEAR
            codes = tuple(code for code in dict.fromkeys([near, *typed.CODES]) if code in text.rpartition("”")[2])
        case errors.TooManyRequests(what="person"):
            codes = (kit.command("/approvals"),)
    usages = kit.usages(error.help) if isinstance(error, errors.UnknownCommand) and error.help else None
    buttons = [*error.buttons] if isinstance(error, errors.NotSure | errors.ProjectNotChosen) else []
    if isinstance(error, errors.CommandError) and error.form is not None:
        buttons.append(error.form)
    shown = kit.with_code(text, *codes) if codes else text
    return card(shown, usages, buttons=map(dict, buttons), audience=audience)


def what_happened(error: errors.ProjectError | None, who: str) -> str:
    """Say in a clause what came back from *who* (an agent, a workflow) before the outcome was lost; None: nothing."""
    match error:
        case errors.Outage():
            return f"The project service answered with an error ({error.status})"
        case errors.ServiceRefused(status=status) if status < 400:  # noqa: PLR2004 - no error, but unexpected
            return f"{who} answered with an unexpected status ({status})"
        case errors.ServiceRefused():
            return f"{who} answered with an error ({error.status})"
        case errors.NotUnderstood(message=message) if message:
            return f"{who} reported a problem ({kit.quoted(message, 100)})"
        case errors.NotUnderstood():
            return f"{who} sent an answer I couldn't read"
        case errors.TimedOut():
            return f"No answer came from {who} within {kit.spoken(error.after)}"
        case errors.ConnectionLost():
            return f"The connection broke before an answer came from {who}"
        case _:
            return "No answer came back"
