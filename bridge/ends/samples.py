"""Samples of notices and failures (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from bridge import errors
from bridge.ends import notices
from bridge.ends.failures import failure
from bridge.ends.notices import NotRead
from bridge.ends.unfinished import unfinished
from bridge.errors import BridgeError
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience
from bridge.slack.blockkit.samples import COMMANDS, DAY, FACE, NOON, TURN, Sample, sample


def project_errors(text: str) -> list[errors.ProjectError]:
    """Return an error of every way in which a call fails, with *text* for what the service said."""
    return [
        errors.CannotConnect("run_workflow", text),
        errors.CircuitOpen("run_workflow", DAY, rejects_key=True),
        errors.TimedOut("run_workflow", DAY),
        errors.ConnectionLost("run_workflow", text),
        errors.NotUnderstood("run_workflow", 200, text, text),
        errors.ServiceRefused("send_message", 422, text),
        errors.Forbidden("send_message", 403, text),
        errors.NotFound("send_message", 404, text, has_item=True),
        errors.Moved("get_stats", 308, text, to=text),
        errors.Busy("get_stats", 429, text, timedelta(seconds=90)),
        errors.Outage("get_stats", 502, text),
        errors.NotSignedIn("get_stats", 401, text),
    ]


def all_errors(text: str) -> list[BridgeError]:
    """Return an error of every class that says something about what failed, with *text* for what isn't our own."""
    pairs = [(7, text), (8, text)]
    return [
        *project_errors(text),
        errors.NotFound("get_stats", 404, text, is_page=True),
        errors.BridgeError(),
        errors.LaneLost(),
        errors.RecordNotUnderstood(),
        errors.ConfigurationError([text, text]),
        errors.SlackError("chat.postMessage", text),
        errors.SlackRefused("chat.postMessage", text, text, [text]),
        errors.SlackUnreachable("chat.postMessage", text, timedelta(seconds=90)),
        errors.SlackTokenRefused("chat.postMessage", text),
        errors.SlackAmbiguous("chat.postMessage", text),
        errors.ThreadGone("chat.postMessage", text),
        errors.SlackGone("apps.connections.open", text),
        errors.StoreUnavailable("refused", text, text, text),
        errors.StoreWiped(text),
        errors.NamespaceTaken(text, text),
        errors.ControlNotUnderstood(text),
        errors.UnknownCommand(text, [text, text]),
        errors.UnknownCommand(text, (), [(text, text)]),
        errors.UnknownOption(text, text, text),
        errors.BadUsage(text, text, text),
        errors.NoSuch("workflow", text, [text, text], text, is_part=True),
        errors.SeveralFit("agent", text, pairs),
        errors.NotSure("agent", [(7, text, text)]),
        *(errors.BadSchedule(part, text, [text]) for part in ("often", "zone", "cron", "only", "option", "night")),
        *(errors.BadAlert(part, text, text) for part in ("condition", "amount", "name", "rest")),
        *(errors.CannotSetUp(part, text, "alerts") for part in ("channel", "disabled", "name", "many")),
        errors.BadInput(text, 7, 7),
        errors.ProjectNotChosen(),
        errors.ProjectRemoved(text),
        *(errors.NotAllowed(reason) for reason in (f"rule:{text}", "user", "unknown")),
        errors.TooOften("limit", timedelta(seconds=90), text),
        *(errors.TooManyRequests(whose) for whose in ("person", "everyone")),
    ]


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of notices and failures."""
    for error in all_errors(text):
        yield sample(failure, error)
    yield sample(failure, errors.CircuitOpen("get_stats", DAY), audience=Audience.THREAD)
    for button in ("again", "now", "new text", "send", ""):
        yield sample(notices.buttons_of, button, text[:500])
    for what in ("", text, f"edited:{TURN}"):
        yield sample(notices.of_earlier_release, what)
    for error_name in (text, "is_archived"):
        yield sample(notices.not_posted, error_name)
    yield sample(notices.not_posted, text, "C0123456789")
    missing = [
        NotRead("image" if number % 2 else "large", text) for number in range(max(1, min(many, notices.MOST_NAMED)))
    ]
    yield sample(notices.not_read, missing)
    yield sample(notices.not_read, missing, is_all=True)
    yield sample(notices.not_read, missing, only_names=True)
    yield sample(notices.not_read, [NotRead("off"), NotRead(text)], is_all=True, only_names=True)
    for meant in (text, "!stop", f"@{text}"):
        yield sample(notices.did_you_mean, meant, text[:500], text[:500])
        yield sample(notices.slip_settled, meant)
    yield sample(notices.slip_settled, "")
    for limited in ("thread", "person", "runs"):
        yield sample(notices.paused, limited, timedelta(seconds=90))
    yield sample(notices.paused, "thread", 5 * timedelta(hours=1), is_first=True)
    yield sample(notices.app_paused, text)
    yield sample(notices.not_queued)
    yield sample(notices.not_queued, text)
    yield sample(notices.outcome_unknown, TURN)
    yield sample(notices.outcome_unknown, TURN, agent=text, is_readable=False)
    for failed in project_errors(text):
        yield sample(notices.outcome_unknown, TURN, failed, text)
        yield sample(notices.waits_for_service, failed, NOON, TURN, text[:500])
    yield sample(notices.in_doubt, TURN)
    yield sample(notices.in_doubt, TURN, "C0123456789")
    yield sample(notices.already_used)
    yield sample(notices.already_used, text)
    yield sample(notices.too_old, TURN, timedelta(hours=5))
    for why in ("stopped", "deleted", "not chosen"):
        yield sample(notices.discarded, why, 1)
        yield sample(notices.discarded, why, 7)
    for reason in ("user", "channel", "rule", "unknown"):
        yield sample(notices.author_refused, reason, text)
    yield sample(notices.found_too_old, timedelta(hours=5))
    for count in (1, 2, 27):
        yield sample(notices.sent_them, count)
        yield sample(notices.in_line, count)
    yield sample(notices.edited_too_late, TURN)
    yield sample(notices.unmentioned, TURN)
    yield sample(notices.other_project, text, text)
    yield sample(notices.session_info, text, 7, FACE)
    yield sample(notices.session_info, text, None)
    yield sample(notices.help_card, COMMANDS, COMMANDS, kit.actions(kit.button(text, "x", "y")))
    yield sample(notices.help_card, COMMANDS, COMMANDS, None, is_direct=True)
    yield sample(notices.help_lines, text, COMMANDS, text)
    yield sample(notices.help_lines, text, COMMANDS[:1])
    for kind in ("message", "command", "click", "scheduled_run", "report", "alert", text):
        for step in ("queued", "sent", "posting"):
            yield sample(unfinished, TURN, kind, step, command=text, is_readable=True)
            yield sample(unfinished, TURN, kind, step, command=text)
            yield sample(unfinished, TURN, kind, step, is_readable=True)
    yield sample(unfinished, TURN, "message", is_readable=True, error="is_archived")
    yield sample(unfinished, TURN, "message", is_readable=True, error=text)
