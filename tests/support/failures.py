"""An example of each failure, for the tests of messages and for the reference."""

from __future__ import annotations

from datetime import timedelta

from bridge import errors
from bridge.features.shared.numbers import PARTS

EXAMPLES = [
    errors.BridgeError(),
    errors.ConfigurationError(["X is missing"]),
    errors.ProjectError("get_stats"),
    errors.CannotConnect("get_stats"),
    errors.CircuitOpen("get_stats", timedelta(seconds=4)),
    errors.TimedOut("get_stats", timedelta(seconds=120)),
    errors.ConnectionLost("get_stats"),
    errors.NotUnderstood("get_stats", 200, "not JSON"),
    errors.ServiceRefused("get_stats", 422, "input is missing"),
    errors.ServiceRefused("get_stats", 400),
    errors.ServiceRefused("get_stats", 500, "oops"),
    errors.NotSignedIn("get_stats", 401),
    errors.NotFound("get_agent", 404),
    errors.Busy("get_stats", 429, retry_after=timedelta(seconds=30)),
    errors.Busy("get_stats", 503),
    errors.Outage("get_stats", 502),
    errors.SlackError("chat.postMessage"),
    errors.SlackRefused("chat.postMessage", "not_in_channel"),
    errors.SlackRefused("files.upload", "missing_scope", "files:write"),
    errors.SlackUnreachable("chat.postMessage"),
    errors.SlackTokenRefused("chat.postMessage", "token_revoked"),
    errors.SlackAmbiguous("chat.postMessage"),
    errors.SlackGone("apps.connections.open", "no socket for 120 s"),
    errors.StoreError(),
    errors.StoreUnavailable(),
    errors.StoreWiped(),
    errors.NamespaceTaken("bridge", "T1/U1"),
    errors.LaneLost(),
    errors.RecordNotUnderstood(),
    errors.ControlNotUnderstood("-"),
    errors.UnknownCommand("/workflows rnu", ["/workflows run"]),
    errors.UnknownCommand("x"),
    errors.UnknownOption("--shrae", "/stats", "--share"),
    errors.UnknownOption("--loud", "/stats"),
    errors.BadUsage("/workflows show <workflow>", "/workflows show 3"),
    errors.BadUsage("/project", typed="all"),
    errors.NoSuch("workflow", "Reprot", ["Report"]),
    errors.NoSuch("agent", "x", lists="/agents"),
    errors.NoSuch("agent", "7"),
    errors.NoSuch("app", "Grafana", ["Grafana Cloud"]),
    errors.NoSuch("app", "x"),
    errors.SeveralFit("workflow", "Rep", [(3, "Report"), (4, "Reprint")]),
    errors.NotSure("agent", [(3, "Sales", "")]),
    errors.SeveralFit("workflow", "Rep", [(number, f"Report {number}") for number in range(30)]),
    *(
        errors.BadSchedule(part, typed, PARTS if part == "only" else ())
        for part, wrong in (
            ("often", "sometimes"),
            ("time", "25:00"),
            ("no_time", "daily"),
            ("weekday", "Blursday"),
            ("monthday", "32nd"),
            ("cron", "0 9 30 2 *"),
            ("zone", "Mars"),
            ("channel", "#random"),
            ("disabled", "#random"),
            ("compare", "ages"),
            ("only", "cats"),
        )
        for typed in (wrong, "")
    ),
    errors.BadSchedule("times", "10:00"),
    errors.BadSchedule("zone", "Berln", ("Europe/Berlin",)),
    errors.BadSchedule("option", "--loud"),
    errors.BadSchedule("option", "--comprae", ("--compare",)),
    errors.BadSchedule("name", "#nowhere"),
    errors.BadSchedule("since", "ages"),
    errors.BadSchedule("many", "1,000"),
    errors.BadSchedule("of a later release", ""),
    errors.BadInput("expected a value", 1, 2),
    *(
        errors.NotAllowed(reason)
        for reason in (
            "stranger",
            "channel",
            "user",
            "runner",
            "default",
            "report",
            "not_yours",
            "unknown",
            "of a later release",
        )
    ),
    *(errors.TooOften(what, timedelta(seconds=37)) for what in ("thread", "person", "runs", "of a later release")),
]
