"""The sentence for each class of `bridge.errors`: from its row in `bridge.ends`, or made of the error's facts.

A test ensures that no class is missing. Sentences are plain text: `failure` makes a reply of one, and
`bridge.slack.blockkit.kit` escapes it elsewhere.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Final

from bridge import errors
from bridge.ends import refusals
from bridge.ends.failures import FAILURES
from bridge.ends.refusals import THREAD_TOO_FAST, TOO_FAST
from bridge.errors import BridgeError
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Reply

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
_EXPECTED: Final = {
    "often": "a schedule, such as every Tuesday and Thursday at 07:15",
    "time": "a time, such as 09:00",
    "hourly": 'a time of day, or a cron expression such as cron "0 * * * *"',
    "weekday": "a day of the week, such as Monday",
    "monthday": "a day of the month, such as 1st or last day",
    "cron": "a cron expression that matches a future date, such as 0 9 * * 1-5",
    "zone": "a time zone, such as Europe/Berlin",
    "since": "an age or a date up to 400 days ago, such as 7d or 2026-11-01",
}
"""The expected form of each part of a schedule, or of `/stats since`."""

_TAKES: Final = {
    "compare": "--compare takes an age such as 24h, 7d or 2w (up to 400 days).",
    "only": "--only takes any of {choices}, such as runs,tags.",
    "overlap": "--overlap takes skip or wait.",
}
"""The expected value of each option of a schedule."""

_TASKS: Final = {"report": "Reports", "question": "Scheduled questions", "run": "Scheduled runs"}

_BAD_SCHEDULE: Final = {
    "strange": "I don't understand {typed} in a schedule. Examples: every Tuesday and Thursday at 07:15, last day of "
    "the month at 17:45, daily 6:30 Europe/Berlin.",
    "night": "I can't tell which night {typed} means. Name the day and the time, such as Tuesday at 00:30.",
    "times": "A {task} can have only one time of day. Schedule another {task} for {typed}.",
    "question": "Add the question in quotation marks, such as “What changed since yesterday?”.",
    "input": "This input isn't valid JSON, so nothing was scheduled. {said}",
    "unclosed": "{typed} has no end: add the closing quotation mark or bracket.",
    "channel": "I can't post in {typed}: I'm not in it, or it's archived. Invite me with /invite, or pick another "
    "channel.",
    "disabled": "The bridge isn't enabled in {typed}. Ask your admin to enable it, or pick another channel.",
    "name": "I can't find {typed} among the channels I'm in. Pick it from the list Slack shows after #, or invite me "
    "there with /invite and try again.",
    "many": "The limit of {said} {task}s has been reached. Delete one to schedule another.",
}

NEAR: Final = "runs < 1 in 24h"
_BAD_ALERT: Final = {
    "condition": "I don't understand {typed}: expected a condition, such as {near}.",
    "sign": "I don't understand {typed}: expected a comparison, such as {near}.",
    "amount": "I don't understand {typed}: expected a whole number or a share, such as {near}.",
    "duration": "I don't understand {typed}: expected a duration, such as 60s, 10m or 6h.",
    "span": "A period of {typed} isn't possible: use 1h to 28d.",
    "span_of_turns": "A period of {typed} isn't possible: use 1m to 24h.",
    "usual": "I don't understand {typed}: expected a multiple of what's usual, such as runs > 3x usual.",
    "name": "I don't understand {typed}: the name is missing, such as in {near}.",
    "agent": "I don't understand {typed}: expected p95 or median, such as agent Support p95 > 60s.",
    "workflow": "I don't understand {typed}: expected fails, p95 or median, such as workflow 3 p95 > 60s.",
    "run": "Add the workflow to run, such as then run Triage.",
    "rest": "I don't understand {typed} after {near}.",
    "many": "The limit of {limit} alerts has been reached. Delete one to set up another.",
}
_ALERT_CODES: Final = ("runs > 3x usual", "agent Support p95 > 60s", "workflow 3 p95 > 60s", "then run Triage")
"""What `_BAD_ALERT` tells people to type, besides what's near."""

_SCHEDULE_CODES: Final = ("--compare", "--only", "--continue", "--overlap", "/invite", 'cron "0 * * * *"')
"""What `_TAKES` and `_BAD_SCHEDULE` tell people to type."""

_MOST_NAMES: Final = 10
MOST_OPTIONS: Final = 5
"""How many workflows or agents a question whether they were meant names."""

_TWO_MINUTES: Final = 120  # seconds


def no_longer(reason: str, owner: str = "") -> str:
    """Return a clause that says why what *owner* set up may no longer happen; without one, it's for the owner.

    ``""`` if *reason* isn't about access.
    """
    return refusals.no_longer(reason, kit.named(owner, 80) if owner else "")


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
        case errors.BadAlert():
            said = text.rpartition("”")[2]
            codes = tuple(code for code in {error.near or NEAR: 0, **dict.fromkeys(_ALERT_CODES)} if code in said)
        case errors.TooManyRequests(what="person"):
            codes = ("/approvals",)
        case errors.BadSchedule():
            codes = tuple(code for code in _SCHEDULE_CODES if code in text.rpartition("”")[2])
    blocks = [kit.with_code(text, *codes) if codes else kit.section(text)]
    if isinstance(error, errors.UnknownCommand) and error.help:
        blocks.append(kit.usages(error.help))
    buttons = [*error.buttons] if isinstance(error, errors.NotSure | errors.ProjectNotChosen) else []
    if isinstance(error, errors.CommandError) and error.form is not None:
        buttons.append(error.form)
    if buttons:
        blocks.append(kit.actions(*map(dict, buttons)))
    return kit.reply(text, *blocks, audience=audience)


def sentence(error: BridgeError) -> str:  # noqa: C901, PLR0912 - a case for each failure with facts
    """Say what went wrong, in plain text that isn't escaped."""
    match error:
        case errors.ProjectError() if not isinstance(error, errors.Outage):
            return _project_sentence(error)
        case errors.SlackRefused(needed=""):
            return (
                f"Slack didn't allow this ({kit.one_line(error.error, 80)}). Ask your admin to check the app's access."
            )
        case errors.SlackRefused():
            return f"The app needs the permission {kit.one_line(error.needed, 80)}. Ask your admin to add it."
        case errors.UnknownCommand():
            near = f"Did you mean {kit.joined(error.nearest, 'or')}?" if error.nearest else "Try one of these commands:"
            return f"I don't recognize {kit.quoted(error.typed, 60)}. {near}"
        case errors.UnknownOption():
            near = (
                f"Did you mean {error.nearest}?" if error.nearest else f"{error.command} help shows what you can type."
            )
            return f"I don't recognize the option {kit.quoted(error.typed, 60)}. {near}"
        case errors.BadUsage():
            wrong = f"I don't understand {kit.quoted(error.typed, 60)}. " if error.typed else ""
            return f"{wrong}Usage: {error.usage}{f', such as {error.example}' if error.example else ''}."
        case errors.NoSuch():
            names = kit.joined([kit.named(name, 80) for name in error.nearest], "or")
            name = error.name if error.name.isdecimal() else kit.quoted(error.name, 60)
            hint = f"{error.lists} lists them all." if error.lists else "It may have been deleted; choose another one."
            if error.is_part and not (names or error.name.isdecimal()):
                return f"The project service lists only some {error.kind}s, and {name} isn't one of them. Use its ID."
            if names:
                hint = f"Did you mean {names}?"
            if error.kind == "app":
                known = ", ".join(kit.named(name, 80) for name in error.nearest)
                hint = "Use the app's ID, such as A0123456789."
                others = f", only {known}" if known else ""
                return f"I haven't seen {name} post here yet{others}. {hint}"
            return f"No {error.kind} {name}. {hint}"
        case errors.SeveralFit():
            names = kit.first_of([f"{kit.named(name, 80)} (ID {id_})" for id_, name in error.matches], _MOST_NAMES)
            typed = kit.quoted(error.name, 60)
            return f"Several {error.kind}s start with {typed}: {names}. Use an ID, such as {error.matches[0][0]}."
        case errors.NotSure():
            return _not_sure(error)
        case errors.ProjectRemoved():
            return f"I'm no longer connected to the project {kit.named(error.id, 80)}. Ask your admin to add it back."
        case errors.BadInput():
            return f"This input isn't valid JSON, so the workflow didn't run. {where_json_breaks(error)}"
        case errors.BadSchedule():
            return _bad_schedule(error)
        case errors.BadAlert():
            said = _BAD_ALERT.get(error.part, _BAD_ALERT["condition"])
            near = kit.one_line(error.near, 160) or NEAR
            if not error.typed and "{typed}" in said:
                return f"Add a condition, such as {near}."
            return said.format(typed=kit.quoted(error.typed, 80), limit=error.typed, near=near)
        case errors.NotAllowed(reason="rule", said=str() as said) if said:
            return said
        case errors.NotAllowed():
            return refusals.not_allowed(error.reason)
        case errors.TooManyRequests():
            if error.what == "person":
                return (
                    "Too many of your requests are waiting for approval. Withdraw some with /approvals, then ask again."
                )
            return _row(error)
        case errors.TooOften():
            why = _TOO_OFTEN.get(error.what, TOO_FAST.said)
            if error.limit:
                done = "started" if error.about.startswith("workflow ") else "sent"
                why = (
                    f"{error.limit[0].upper()}{error.limit[1:]} is used up, so nothing was {done}. Try again {{soon}}."
                )
            return why.replace("{soon}", _soon(max(error.wait, timedelta(seconds=1))))
        case _:
            return _row(error)


def _row(error: BridgeError) -> str:
    return FAILURES[type(error).__name__].told


def _not_sure(error: errors.NotSure) -> str:
    several, names = len(error.options) > 1, []
    for id_, name, rest in error.options[:MOST_OPTIONS]:
        shown = f"{kit.named(name, 80)} (ID {id_})" if several else kit.named(name, 80)
        names.append(f"{shown} with the {error.of_rest} {kit.quoted(rest, 100)}" if rest else shown)
    more = "Use an ID to choose another one." if len(error.options) > MOST_OPTIONS else "Nothing was done yet."
    return f"Did you mean {kit.joined(names, 'or')}? {more}"


def _project_sentence(error: errors.ProjectError) -> str:
    """Say why a call of the project service failed, and what helps, by operation and cause."""
    is_change = error.operation in _CHANGES
    match error:
        case errors.CircuitOpen(rejects_key=True):
            return FAILURES["NotSignedIn"].told
        case errors.CircuitOpen():
            return f"The project service is unavailable. Try again {_soon(error.retry_in)}."
        case errors.TimedOut():
            timed_out = f"The project service timed out after {kit.spoken(error.after)}"
            working = ", but may still be working on this. Check before you try again."
            return timed_out + (working if is_change else ". Try again in a minute.")
        case errors.ConnectionLost():
            broke = "The connection to the project service broke"
            unsure = ", and I can't tell whether this was done. Check before you try again."
            return broke + (unsure if is_change else ". Try again in a moment.")
        case errors.NotUnderstood():
            if error.said:
                return f"The project service reported a problem{_said(error)} Try again in a moment, or ask your admin."
            size = f" {error.problem}, which" if error.problem.startswith("larger") else ""
            sent = f"The project service sent a response{size} I couldn't read"
            return f"{sent}. Try again, and tell your admin if it keeps happening."
        case errors.Moved():
            if error.to:
                to = kit.one_line(error.to, 300)
                return f"The project service has moved to {to}. Ask your admin to set that address."
            return f"The project service's address leads elsewhere ({error.status}). Ask your admin to check it."
        case errors.NotFound() if error.is_page:
            return (
                f"The project service's address shows a web page ({error.status}). Ask your admin to check the address."
            )
        case errors.NotFound() if error.has_item:
            but = f"but answered “not found”{_said(error) or f' ({error.status}).'}"
            return f"The project service has this {_ITEMS[error.operation]}, {but} Let your admin know."
        case errors.NotFound() if error.operation in _ITEMS:
            gone = f"The project service no longer has this {_ITEMS[error.operation]}"
            return f"{gone}{_said(error) or '.'} Pick another one."
        case errors.NotFound():
            what = _LISTS.get(error.operation, "data")
            return f"The project service has no {what} ({error.status}){_said(error) or '.'} Let your admin know."
        case errors.Busy():
            when = _soon(error.retry_after) if error.retry_after else "in a moment"
            return f"The project service is busy{_said(error) or '.'} Try again {when}."
        case errors.ServiceRefused():
            return _refused(error, *_CHANGES.get(error.operation, ("this", "Let your admin know.")))
        case _:
            return _row(error)


def _refused(error: errors.ServiceRefused, what: str, cure: str) -> str:
    """Say why the service refused *what*, and what helps: *cure*, if what was sent may be the cause."""
    status, why = error.status, _said(error) or f" (status {error.status})."
    if status in _NOT_OFFERED:
        return f"The project service doesn't offer this{why} Ask your admin to check its address and version."
    if status in _NOT_NOW:
        return f"The project service couldn't do this now{why} Try again in a moment, or ask your admin."
    if not 400 <= status < 600:  # noqa: PLR2004 - HTTP's own borders
        return f"The project service sent an unexpected answer{why} Let your admin know."
    if status >= 500:  # noqa: PLR2004
        return f"The project service had an internal problem{_said(error) or '.'} Try again in a moment."
    return f"The project service rejected {what}{why} {cure if status in _BY_CONTENT else 'Ask your admin.'}"


def what_happened(error: errors.ProjectError | None, who: str) -> str:
    """Say in a clause what came back from *who* (an agent, a workflow) before the outcome was lost; None: nothing."""
    match error:
        case errors.Outage():
            return f"The project service answered with an error ({error.status})"
        case errors.ServiceRefused(status=status) if status < 400:  # noqa: PLR2004 - no error, but unexpected
            return f"{who} answered with an unexpected status ({status})"
        case errors.ServiceRefused():
            return f"{who} answered with an error ({error.status})"
        case errors.NotUnderstood(said=said) if said:
            return f"{who} reported a problem ({kit.quoted(said, 100)})"
        case errors.NotUnderstood():
            return f"{who} sent an answer I couldn't read"
        case errors.TimedOut():
            return f"No answer came from {who} within {kit.spoken(error.after)}"
        case errors.ConnectionLost():
            return f"The connection broke before an answer came from {who}"
        case _:
            return "No answer came back"


def _bad_schedule(error: errors.BadSchedule) -> str:
    typed = kit.quoted(error.typed, 80) if error.typed or error.part not in {"channel", "disabled"} else "this channel"
    if error.part in _BAD_SCHEDULE:
        return _BAD_SCHEDULE[error.part].format(typed=typed, said=error.typed, task=error.of)
    if error.part == "option":
        return f"I don't recognize the option {typed}. Did you mean {kit.joined(error.choices, 'or')}?"
    if error.part == "options":
        return (
            f"I don't recognize the option {typed}. {_TASKS[error.of]} accept only {kit.joined(error.choices, 'and')}."
        )
    if error.part == "placeholder":
        near = (
            f"Did you mean {kit.joined(error.choices, 'or')}?"
            if error.choices
            else "Use {{date}}, {{stats}} or {{stats.runs}}."
        )
        return f"I can't fill in {typed}. {near}"
    if error.part == "zone" and error.choices:
        return f"I don't recognize the time zone {typed}. Did you mean {kit.joined(error.choices, 'or')}?"
    if error.part == "often" and "month" in error.typed.lower():
        return f"I don't understand {typed}: expected a day of the month, such as 15th or last day."
    if error.part == "no_time":
        return f"Add a time to {typed}, such as 09:00."
    if error.part in _TAKES:
        choices = " and ".join([", ".join(error.choices[:-1]), *error.choices[-1:]])
        takes = _TAKES[error.part].format(choices=choices)
        return f"I don't understand {typed}: {takes}" if error.typed else f"The option {takes}"
    expected = _EXPECTED.get(error.part, _EXPECTED["often"])
    return f"I don't understand {typed}: expected {expected}." if error.typed else f"Add {expected}."


def where_json_breaks(error: errors.BadInput) -> str:
    """Say where typed JSON is broken, and how."""
    return f"Line {error.line}, character {error.column}: {error.problem}."


def _said(error: errors.ServiceRefused | errors.NotUnderstood) -> str:
    """Quote the service's own message after a colon, without a second period."""
    said = kit.one_line(error.said).rstrip(". ")
    return f": {kit.quoted(said, 300)}." if said else ""


def _soon(wait: timedelta) -> str:
    """Write when to try again, in whole minutes if it's longer than two."""
    seconds = math.ceil(wait.total_seconds())
    if seconds > _TWO_MINUTES:
        seconds = 60 * math.ceil(seconds / 60)
    return f"in {kit.spoken(timedelta(seconds=seconds))}"
