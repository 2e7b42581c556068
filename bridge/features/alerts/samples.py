"""Samples of alerts: their messages, preview, list and forms (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from bridge.features.alerts import forms, layout
from bridge.features.alerts.alert import AlertSpec, Period, Preview, StoredAlert
from bridge.features.alerts.conditions import LONGEST_TEXT
from bridge.features.alerts.kind import ALERTS
from bridge.features.episodes.episode import UNTIL_IT_RECOVERS
from bridge.features.standing import kind as kinds, layout as standing, pauses
from bridge.features.standing.kind import Heading, ShownThing
from bridge.queue.scripting import epoch_ms
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.samples import CHANNEL, DAY, DIRECT, NOON, ORIGIN, USER, ZONE, Sample, sample

_PREVIEW = Preview(
    NOON - 30 * DAY,
    [Period(NOON - number * DAY, None if number == 1 else NOON) for number in range(30, 0, -1)],
    [(NOON - timedelta(hours=hours), hours) for hours in range(720, 0, -1)],
)
_OFFERS = {kinds.PAUSE, kinds.RESUME, kinds.EDIT, kinds.DELETE, layout.SNOOZES_IT, layout.UNSNOOZE}


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of alerts."""
    words = text[:LONGEST_TEXT]  # a person's words, which a condition has at most
    spec = AlertSpec(condition=f"tag {words} > 5", run=3, run_name=words, channel=CHANNEL, owner=USER, zone=ZONE)
    stored, alone = StoredAlert("0123456789abcdef", spec), spec.model_copy(update={"run": None, "run_name": ""})
    in_private = replace(stored, spec=alone.model_copy(update={"channel": DIRECT}))
    states = [
        stored, replace(stored, paused="is_archived"), replace(stored, since=NOON), replace(stored, spec=alone),
        replace(stored, snoozed=UNTIL_IT_RECOVERS), replace(stored, snoozed=str(epoch_ms(NOON + DAY))),
    ]  # fmt: skip
    yield sample(layout.begun, stored, text, text, NOON, text, project=text)
    yield sample(layout.begun, replace(stored, spec=alone), text, "", NOON, text)
    yield sample(layout.over, stored, text, NOON - DAY, NOON)
    yield sample(layout.recovered, stored, text, NOON - DAY, NOON)
    for state in states[1:3]:
        yield sample(layout.unknown, state, text)
    for is_new in (True, False):
        for shown in (_PREVIEW, Preview(NOON - DAY, [], [(NOON, 1)]), Preview(None, is_possible=False)):
            yield sample(layout.previewed, spec, words, shown, text, is_known=True, is_new=is_new, warning=text)
        yield sample(layout.previewed, alone, words, _PREVIEW, text, is_known=False, is_new=is_new)
        yield sample(layout.set_up, stored, text, is_known=True, is_new=is_new, warning=text)
        yield sample(layout.set_up, in_private, text, is_known=False, is_new=is_new)
    for choice, until in (("1h", NOON), (UNTIL_IT_RECOVERS, None), (layout.UNSNOOZE, None)):
        yield sample(layout.snoozed, stored, until, choice)
    yield sample(layout.form_button)
    yield sample(forms.choose, ORIGIN)
    yield sample(forms.in_words, ORIGIN, text, CHANNEL)
    yield sample(forms.in_words, ORIGIN.model_copy(update={"editing": "0123456789abcdef"}), text)
    yield sample(forms.in_words, ORIGIN)
    shown_alerts = [
        ShownThing(
            record=replace(states[number % 6], id=f"{number:x}"), called=words, owner=text, project=text, offers=_OFFERS
        )
        for number in range(min(many * 3, standing.A_PAGE))
    ]
    rows = [(shown, layout.row(shown, f"0:{shown.record.id}", NOON)) for shown in shown_alerts]
    heading = Heading("Alerts", "Nothing is watched yet.", [layout.form_button()])
    above, count = kit.reply(words, kit.section(words)), max(many, 12) if many else 0
    yield sample(standing.listed, ALERTS, heading, rows, 1, count, above=above)
    yield sample(standing.home_section, ALERTS, rows[: standing.MOST_IN_HOME], many)
    yield sample(standing.gone, ALERTS)
    yield sample(standing.delete_button, layout.NOUN, text, "alert:delete", "0:1")
    for reason in ("user", "is_archived", pauses.REMOVED, text):
        yield sample(pauses.paused_notice, layout.NOUN, text, CHANNEL, reason)
        yield sample(pauses.paused_notice, layout.NOUN, text, CHANNEL, reason, text, is_owner=False)
    yield sample(pauses.paused_notice, layout.NOUN, "", "", "user", is_owner=False)
    for did in ("paused", "changed", "deleted"):
        yield sample(pauses.changed_notice, layout.NOUN, text, CHANNEL, text, did)
    for reason in ("user", pauses.REMOVED):
        yield sample(pauses.cannot_continue, text, reason, text)
        yield sample(pauses.cannot_continue, text, reason, "")
