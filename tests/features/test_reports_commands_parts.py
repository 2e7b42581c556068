"""Reports: their form, the checks of its fields, and pages of the list that Slack accepts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from unittest.mock import ANY

from bridge.engine.forms import Values
from bridge.features.registry import features
from bridge.features.schedules import forms, layout
from bridge.features.schedules.kind import SCHEDULES
from bridge.features.schedules.layout import REPORT, ShownTask
from bridge.features.schedules.schedule import ReportSpec, StoredTask
from bridge.features.standing.kind import Heading
from bridge.features.standing.layout import A_PAGE, listed
from bridge.features.standing.pauses import paused_notice
from bridge.features.standing.times import Schedule
from bridge.inbound import Submission
from bridge.playground.emulator.limits import check_blocks
from bridge.slack.blockkit.modals import FormErrors
from support.store import CHANNEL, TEAM, USER
from support.tables import each

MOMENT = datetime(2026, 3, 5, 8, tzinfo=UTC)
FORM = {
    "often": "every Tuesday", "time": "17:30", "cron": "", "zone": "America/New_York", "channel": CHANNEL,
    "compare": "7d", "only": "runs,tags",
}  # fmt: skip


def test_the_form_writes_the_text_of_the_command() -> None:
    assert forms.report_words(Values(FORM)) == "every Tuesday 17:30 America/New_York --compare 7d --only runs,tags"


@each(
    ("changes", "field"),
    [
        ({}, None),
        ({"zone": "Mars/Phobos"}, "zone"),
        ({"often": "cron", "cron": "every day"}, "cron"),
        ({"often": "cron", "cron": ""}, "cron"),
        ({"often": "cron", "cron": '0 9 * * 1-5" --loud "'}, "cron"),
        ({"often": "cron", "cron": "0 9 * * 1-5"}, None),
        ({"often": "daily", "cron": "every day"}, "cron"),
        ({"often": "weekly tue"}, None),  # a form opened by an earlier release
        ({"zone": "new york"}, None),
        ({"zone": "UTC --loud"}, "zone"),
        ({"only": "prompts,runs,versions,categories,tags", "compare": "-"}, None),
    ],
)
def test_an_invalid_value_in_the_form_is_shown_at_its_field(changes: dict[str, Any], field: str | None) -> None:
    sent = Submission(team=TEAM, channel=CHANNEL, user=USER, form=forms.ReportForm.id, values=FORM | changes)

    assert features.stays_open(sent) == (FormErrors({field: ANY}) if field else None)


@each("count", [0, 1, 15, 16, 40])
def test_slack_accepts_every_page_of_a_list(count: int) -> None:
    spec = ReportSpec(schedule=Schedule("cron * * * * *", ("* * * * *",)), zone="Europe/Berlin", channel=CHANNEL)
    tasks = [
        ShownTask(record=StoredTask(f"report-{number:09}", spec, MOMENT), owner="Ada <!here>", offers=SCHEDULES.verbs)
        for number in range(count)
    ]
    rows = [(task, layout.row(task, f"0:{task.record.id}")) for task in tasks]
    values = []
    for page in range(-(-count // A_PAGE) or 1):
        shown = rows[page * A_PAGE : (page + 1) * A_PAGE]
        reply = listed(SCHEDULES, Heading("Schedules", "Nothing is scheduled yet.", []), shown, page, count)
        check_blocks(list(reply.blocks))
        values += [
            button["value"] for block in reply.blocks if block["type"] == "actions" for button in block["elements"]
        ]

    assert {value.partition(":")[2] for value in values} >= {task.record.id for task in tasks}


@each("error", ["is_archived", "something new <!channel>", ""])
def test_slack_accepts_the_notice_of_a_paused_report(error: str) -> None:
    reply = paused_notice(REPORT, "daily 09:00", CHANNEL, error)

    check_blocks(list(reply.blocks))
    assert "<!channel>" not in reply.text
