"""The cause of each message about a failure and what to do about it, for docs/reference/messages.md."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from bridge import errors
from bridge.ends import notices
from bridge.ends.unfinished import unfinished
from bridge.errors import BridgeError
from bridge.slack.blockkit.reply import Reply

CONVERSATIONS: Final = "Conversations"
NOTICES: Final[tuple[tuple[Reply, str], ...]] = (
    (notices.SERVICE_DOWN, "The project service can't be reached. The message is sent once it can."),
    (
        notices.outcome_unknown("1"),
        "The connection broke, or the service failed, after the message was sent. *Send again* queues it again.",
    ),
    (
        notices.outcome_unknown("1", errors.ServiceRefused("send_message", 500), "Support"),
        "The agent's answer was an error, or couldn't be read. `bridge trace` has the service's own words.",
    ),
    (notices.in_doubt("1"), "Slack didn't confirm a post. *Show it* posts it again."),
    (notices.not_posted("is_archived"), "Slack permanently refused an answer. `bridge dead retry` posts it."),
    (
        unfinished("1", "message", is_readable=True),
        "Eight processes in a row failed at this message. *Send again* queues it again.",
    ),
    (
        unfinished("", "message"),
        "A record in Redis can't be read. Upgrade all processes to the same release.",
    ),
    (notices.too_old("1", timedelta(hours=25)), "The message waited for longer than `BRIDGE_MAX_AGE`."),
    (notices.discarded("not chosen", 1), "Nobody used the menu for `BRIDGE_SESSION_DAYS`."),
    (notices.discarded("stopped", 2), "Nobody chose what happens to messages after a stop for `BRIDGE_SESSION_DAYS`."),
    (notices.discarded("deleted", 1), "Someone deleted the message that started the thread."),
    (
        notices.unmentioned("C1:1.0"),
        "Several people write in the thread, so a reply needs a mention (`BRIDGE_THREAD_REPLIES`). *Send it* sends it.",
    ),
    (
        notices.found_too_old(timedelta(hours=24)),
        "After an outage, messages older than `BRIDGE_MAX_AGE` were found. *Send them* sends them in order.",
    ),
    (notices.COMMAND_MISSED, "After an outage, a `!` command was found."),
    (
        notices.edited_too_late("1"),
        "A message was edited after the agent received it. *Send new text* sends the new version.",
    ),
    (
        notices.not_read([notices.NotRead("image", "cup.png")]),
        "Part of the message can't be read: see [Contents of messages](contents.md).",
    ),
    (notices.did_you_mean("!stop", "-", "-"), "The message looks like a mistyped `!` command."),
    (notices.did_you_mean("@orders", "-", "-"), "The message begins with a word like a project's name, after an `@`."),
    (notices.THREAD_MUTED, "Someone typed `!mute` in this thread."),
    (notices.THREAD_FULL, "A thread's queue holds at most 50 messages."),
    (notices.NO_THREAD_HERE, "The bot was mentioned in a channel that it isn't in, or may not post in."),
    (notices.not_queued("/stats"), "Redis can't be reached."),
)
"""Notices in conversations, with their causes."""

TYPED, PERSON, SERVICE, SLACK, BRIDGE = (
    "Invalid input",
    "Permissions and limits",
    "The project service",
    "Slack",
    "The bridge and Redis",
)
SECTIONS: Final = (TYPED, PERSON, SERVICE, SLACK, BRIDGE)
_CAUSES: Final[dict[type[BridgeError], tuple[str, str]]] = {
    errors.CommandError: (TYPED, "A command can't be carried out as typed."),
    errors.UnknownCommand: (TYPED, "There is no such command. The bot suggests similar commands, or shows the help."),
    errors.UnknownOption: (TYPED, "The command has no such option."),
    errors.BadUsage: (TYPED, "Arguments are missing, or there are too many."),
    errors.NoSuch: (TYPED, "Nothing has this ID or name."),
    errors.SeveralFit: (TYPED, "More than one name starts with this."),
    errors.NotSure: (TYPED, "A command that acts needs an ID or a whole name. A button carries it out."),
    errors.BadSchedule: (TYPED, "It isn't a valid schedule."),
    errors.BadAlert: (TYPED, "It isn't a valid alert."),
    errors.BadInput: (TYPED, "The input begins with `{` or `[` but isn't valid JSON. *Fix it* opens the form."),
    errors.ProjectNotChosen: (TYPED, "There are several projects, and none is set for the channel."),
    errors.ProjectRemoved: (SERVICE, "The operator's file no longer has this project; put it back, and all goes on."),
    errors.ProjectError: (SERVICE, "A request to the service failed."),
    errors.CannotConnect: (SERVICE, "No connection was made, so nothing was sent. Check `PROJECT_BASE_URL`."),
    errors.CircuitOpen: (SERVICE, "Five requests in a row failed, so the bridge waits before it tries again."),
    errors.TimedOut: (
        SERVICE,
        "No answer came within `BRIDGE_CHAT_TIMEOUT`, `BRIDGE_RUN_TIMEOUT` or, for everything else, 10 s.",
    ),
    errors.ConnectionLost: (SERVICE, "The connection broke after the request was sent."),
    errors.NotUnderstood: (SERVICE, "The response isn't in the documented format. `bridge check` shows details."),
    errors.ServiceRefused: (
        SERVICE,
        "The service answered with an error; its own message, if there is one, is quoted.",
    ),
    errors.Forbidden: (SERVICE, "The service answered 401 or 403 to this, but not to everything."),
    errors.NotSignedIn: (SERVICE, "The service answered 401 or 403 to everything: check `PROJECT_API_KEY`."),
    errors.Moved: (SERVICE, "The service answered with a redirect. The key isn't sent along: set `PROJECT_BASE_URL`."),
    errors.NotFound: (SERVICE, "The service answered 404 or 410: it was deleted, or this version doesn't have it."),
    errors.Busy: (SERVICE, "The service answered 429, or 503 with `Retry-After`. Nothing was done."),
    errors.Outage: (SERVICE, "The service answered 502, 504, or 503 without `Retry-After`."),
    errors.SlackError: (SLACK, "A call to Slack failed."),
    errors.SlackRefused: (SLACK, "Slack answered with this error. Its API documentation explains it."),
    errors.SlackUnreachable: (SLACK, "Slack can't be reached, or answered 429."),
    errors.SlackTokenRefused: (SLACK, "The bot token was revoked, or the app was removed."),
    errors.SlackAmbiguous: (SLACK, "The call was sent, and no answer came."),
    errors.SlackGone: (
        SLACK,
        "The connection to Slack was down for two minutes. The process exits; its supervisor starts it again.",
    ),
    BridgeError: (BRIDGE, "Something unexpected failed. Look in the bridge's log."),
    errors.ConfigurationError: (BRIDGE, "A setting is missing or malformed. Run `bridge check`."),
    errors.StoreError: (BRIDGE, "Redis can't be reached, is full, or was wiped. `bridge check` says which."),
    errors.NamespaceTaken: (BRIDGE, "Another bot uses this namespace. Set a different `BRIDGE_NAMESPACE`."),
    errors.LaneLost: (BRIDGE, "Another process took over this thread."),
    errors.ControlNotUnderstood: (BRIDGE, "A button, form or shortcut of another release was used."),
    errors.RecordNotUnderstood: (BRIDGE, "A newer release stored this record. Upgrade this process, too."),
}
_NOT_ALLOWED: Final = {
    "stranger": "This person belongs to another workspace.",
    "channel": "`BRIDGE_ALLOWED_CHANNELS` doesn't list this channel.",
    "user": "`BRIDGE_ALLOWED_USERS` doesn't list this person.",
    "default": "Only people who may run workflows can change channel settings.",
    "report": "Only people who may run workflows can schedule reports.",
    "alert": "Only people who may run workflows can set up alerts.",
    "runner": "`BRIDGE_RUNNERS` doesn't list this person; without it, guests can't run workflows.",
    "not_yours": "Someone else scheduled this report, and this person may not run workflows.",
    "not_your_alert": "Someone else set up this alert, and this person may not run workflows.",
    "not_your_own": "Someone else set this up, and this person may not run workflows.",
    "unanswered": "Slack limited the bridge, failed or timed out when it looked up this person or a user group.",
    "unknown": "Slack refused to say where this person is from, or who is in a user group.",
}
_SCHEDULE: Final = {
    "time": "There is no such time of day.",
    "no_time": "The time of day is missing.",
    "hourly": "Only a cron expression can be due more than once a day.",
    "times": "More than one time of day was typed.",
    "weekday": "There is no such day of the week.",
    "monthday": "There is no such day of the month.",
    "cron": "It isn't a cron expression, or no date matches it.",
    "zone": "There is no such time zone, or several match.",
    "compare": "The age can't be read, or is more than 400 days.",
    "only": "There is no such part of the statistics.",
    "option": "A report has no such option.",
    "options": "A report has no such option.",
    "since": "`/stats since` can't read the time, or it's more than 400 days ago.",
}
_ALERT: Final = {
    "sign": "Nothing says how to compare.",
    "amount": "It isn't a number, or may be read as two of them (`5.000`).",
    "duration": "It isn't a duration.",
    "span": "Snapshots of the statistics are hourly, and a period is at most four weeks.",
    "span_of_turns": "What the bridge records of turns is stored for a day.",
    "usual": "What's usual is known for `prompts`, `runs` and `versions`.",
    "run": "The workflow isn't named.",
    "rest": "Something follows the condition that isn't `in`, `then run` or a channel.",
}
_CANNOT_SET_UP: Final = {
    "many": "`/schedules` and `/stats alerts` list them, with *Delete*.",
    "channel": "The bot isn't in this channel, or it's archived.",
    "disabled": "`BRIDGE_ALLOWED_CHANNELS` doesn't list this channel.",
    "name": "The bot isn't in a channel with this name.",
}
_TOO_OFTEN: Final = {
    "thread": "The limit `BRIDGE_THREAD_TURNS_PER_MINUTE` was reached.",
    "person": "The limit `BRIDGE_USER_TURNS_PER_MINUTE` was reached.",
    "runs": "The limit `BRIDGE_USER_RUNS_PER_HOUR` was reached.",
}

_TOO_MANY_REQUESTS: Final = {
    "person": "20 requests of one person wait for approval; those of their schedules, alerts and apps count, too.",
    "everyone": "200 requests wait for approval.",
}


def cause_of(error: BridgeError) -> tuple[str, str]:
    """Return a message's section and cause."""
    match error:
        case errors.SlackRefused() if error.needed:
            return (
                SLACK,
                "The app lacks this scope. Paste what `bridge manifest` prints into *App Manifest*; reinstall the app.",
            )
        case errors.NotFound(has_item=True):
            return SERVICE, "The service answered 404 or 410 to a message or a run, but has the agent or workflow."
        case errors.NotFound(is_page=True):
            return SERVICE, "A gateway answered 404 or 410 with a web page. Check `PROJECT_BASE_URL`."
        case errors.BadSchedule() if error.part in _SCHEDULE:
            return TYPED, _SCHEDULE[error.part]
        case errors.BadAlert() if error.part in _ALERT:
            return TYPED, _ALERT[error.part]
        case errors.CannotSetUp():
            return TYPED, _CANNOT_SET_UP[error.part]
        case errors.NoSuch(kind="app"):
            return TYPED, "No app with this name has posted in this channel."
        case errors.NotAllowed():
            return PERSON, _NOT_ALLOWED.get(error.reason, "A permission is missing.")
        case errors.TooManyRequests():
            return PERSON, _TOO_MANY_REQUESTS[error.what]
        case errors.TooOften():
            return PERSON, _TOO_OFTEN.get(error.what, _TOO_OFTEN["person"])
    return next(_CAUSES[base] for base in type(error).__mro__ if base in _CAUSES)
