"""Commands that can't be carried out as typed: what's said is made of what was typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bridge import errors
from bridge.ends import End
from bridge.slack.blockkit import kit

NOT_DONE: Final = End("I couldn't carry out this command as it was typed.", "My reply says what to change.")
NEAR: Final = "runs < 1 in 24h"
MOST_OPTIONS: Final = 5
"""How many workflows or agents a question whether they were meant names."""

_MOST_NAMES: Final = 10
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

_TASKS: Final = {"question": "Scheduled questions", "run": "Scheduled runs"}

_BAD_SCHEDULE: Final = {
    "strange": "I don't understand {typed} in a schedule. Examples: every Tuesday and Thursday at 07:15, last day of "
    "the month at 17:45, daily 6:30 Europe/Berlin.",
    "night": "I can't tell which night {typed} means. Name the day and the time, such as Tuesday at 00:30.",
    "no_time": "Add a time to {typed}, such as 09:00.",
    "times": "A {task} can have only one time of day. Schedule another {task} for {typed}.",
    "channels": "A {task} can be in only one channel, not in {typed}. Schedule another one for each.",
    "question": "Add the question in quotation marks, such as “What changed since yesterday?”.",
    "input": "This input isn't valid JSON, so nothing was scheduled. {where}",
    "unclosed": "{typed} has no end: add the closing quotation mark or bracket.",
}

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
}

_CANNOT_SET_UP: Final = {
    "channel": "I can't post in {typed}: I'm not in it, or it's archived. Invite me with /invite, or pick another "
    "channel.",
    "disabled": "The bridge isn't enabled in {typed}. Ask your admin to enable it, or pick another channel.",
    "name": "I can't find {typed} among the channels I'm in. Pick it from the list Slack shows after #, or invite me "
    "there with /invite and try again.",
    "many": "The limit of {limit} {plural} has been reached. Delete one to set up another.",
}

CODES: Final = (
    "runs > 3x usual", "agent Support p95 > 60s", "workflow 3 p95 > 60s", "then run Triage", "--compare", "--only",
    "--continue", "--overlap", "/invite", 'cron "0 * * * *"',
)  # fmt: skip
"""What `_BAD_ALERT`, `_TAKES`, `_BAD_SCHEDULE` and `_CANNOT_SET_UP` tell people to type, besides what's near."""


def _unknown_command(error: errors.UnknownCommand) -> str:
    near = f"Did you mean {kit.joined(error.nearest, 'or')}?" if error.nearest else "Try one of these commands:"
    return f"I don't recognize {kit.quoted(error.typed, 60)}. {near}"


def _unknown_option(error: errors.UnknownOption) -> str:
    near = f"Did you mean {error.nearest}?" if error.nearest else f"{error.command} help shows what you can type."
    if error.typed == "--share":
        return f"This command doesn't take --share: only you see its answer. {near}"
    return f"I don't recognize the option {kit.quoted(error.typed, 60)}. {near}"


def _bad_usage(error: errors.BadUsage) -> str:
    wrong = f"I don't understand {kit.quoted(error.typed, 60)}. " if error.typed else ""
    return f"{wrong}Usage: {error.usage}{f', such as {error.example}' if error.example else ''}."


def _no_such(error: errors.NoSuch) -> str:
    names = [kit.named(name, 80) for name in error.nearest]
    name = error.name if error.name.isdecimal() else kit.quoted(error.name, 60)
    if error.kind == "app":
        others = f", only {', '.join(names)}" if names else ""
        return f"I haven't seen {name} post here yet{others}. Use the app's ID, such as A0123456789."
    if error.is_part and not (names or error.name.isdecimal()):
        return f"The project service lists only some {error.kind}s, and {name} isn't one of them. Use its ID."
    hint = f"{error.lists} lists them all." if error.lists else "It may have been deleted; choose another one."
    if names:
        hint = f"Did you mean {kit.joined(names, 'or')}?"
    return f"No {error.kind} {name}. {hint}"


def _several_fit(error: errors.SeveralFit) -> str:
    names = kit.first_of([f"{kit.named(name, 80)} (ID {id_})" for id_, name in error.matches], _MOST_NAMES)
    typed = kit.quoted(error.name, 60)
    return f"Several {error.kind}s start with {typed}: {names}. Use an ID, such as {error.matches[0][0]}."


def _not_sure(error: errors.NotSure) -> str:
    several, names = len(error.options) > 1, []
    for id_, name, rest in error.options[:MOST_OPTIONS]:
        shown = f"{kit.named(name, 80)} (ID {id_})" if several else kit.named(name, 80)
        names.append(f"{shown} with the {error.of_rest} {kit.quoted(rest, 100)}" if rest else shown)
    more = "Use an ID to choose another one." if len(error.options) > MOST_OPTIONS else "Nothing was done yet."
    return f"Did you mean {kit.joined(names, 'or')}? {more}"


def _bad_schedule(error: errors.BadSchedule) -> str:
    part = error.part
    typed = kit.quoted(error.typed, 80)
    near = f"Did you mean {kit.joined(error.choices, 'or')}?" if error.choices else ""
    if part in _BAD_SCHEDULE:
        return _BAD_SCHEDULE[part].format(typed=typed, where=error.typed, task=error.of)
    if part == "option":
        return f"I don't recognize the option {typed}. {near}"
    if part == "options":
        tasks = _TASKS.get(error.of, f"{kit.capitalized(error.of)}s")
        only = f" {tasks} accept only {kit.joined(error.choices)}." if error.choices else ""
        return f"I don't recognize the option {typed}.{only}"
    if part == "placeholder":
        return f"I can't fill in {typed}. " + (near or "Use {{date}}, {{stats}} or {{stats.runs}}.")
    if part == "zone" and near:
        return f"I don't recognize the time zone {typed}. {near}"
    if part == "cron" and near:
        return f"I don't understand {typed}. {near}"
    if part == "often" and "month" in error.typed.lower():
        return f"I don't understand {typed}: expected a day of the month, such as 15th or last day."
    if part in _TAKES:
        takes = _TAKES[part].format(choices=kit.joined(error.choices))
        return f"I don't understand {typed}: {takes}" if error.typed else f"The option {takes}"
    expected = _EXPECTED.get(part, _EXPECTED["often"])
    return f"I don't understand {typed}: expected {expected}." if error.typed else f"Add {expected}."


def _bad_alert(error: errors.BadAlert) -> str:
    sentence, near = _BAD_ALERT.get(error.part, _BAD_ALERT["condition"]), kit.one_line(error.near, 160) or NEAR
    if not error.typed and "{typed}" in sentence:
        return f"Add a condition, such as {near}."
    return sentence.format(typed=kit.quoted(error.typed, 80), near=near)


def _cannot_set_up(error: errors.CannotSetUp) -> str:
    typed = kit.quoted(error.typed, 80) if error.typed else "this channel"
    sentence = _CANNOT_SET_UP.get(error.part, _CANNOT_SET_UP["channel"])
    return sentence.format(typed=typed, limit=error.typed, plural=error.plural)


def where_json_breaks(error: errors.BadInput) -> str:
    """Say where typed JSON is broken, and how."""
    return f"Line {error.line}, character {error.column}: {error.problem}."


FAILURES: Final[Mapping[str, End]] = {
    "UnknownCommand": NOT_DONE.called("no such command", says=_unknown_command),
    "UnknownOption": NOT_DONE.called("no such option", says=_unknown_option),
    "BadUsage": NOT_DONE.called("wrong usage", says=_bad_usage),
    "NoSuch": NOT_DONE.called("no match", says=_no_such),
    "SeveralFit": NOT_DONE.called("several matches", says=_several_fit),
    "NotSure": NOT_DONE.called("asked which was meant", says=_not_sure),
    "BadSchedule": NOT_DONE.called("schedule or time not accepted", says=_bad_schedule),
    "BadAlert": NOT_DONE.called("alert not accepted", says=_bad_alert),
    "CannotSetUp": NOT_DONE.called("couldn't be set up there", says=_cannot_set_up),
    "BadInput": NOT_DONE.called(
        "input isn't valid JSON; asked what to do",
        says=lambda error: f"This input isn't valid JSON, so the workflow didn't run. {where_json_breaks(error)}",
    ),
}  # fmt: skip
"""Each subclass of `bridge.errors.CommandError`, but for a project that isn't chosen."""
