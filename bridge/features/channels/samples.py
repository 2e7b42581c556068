"""Samples of a channel's settings (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.features.channels import layout
from bridge.features.channels.app_rules import rule_paused
from bridge.features.channels.forms import AppField, settings_form
from bridge.features.channels.layout import SettingChange, ShownSettings
from bridge.slack.blockkit.samples import CHANNEL, DIRECT, ORIGIN, Sample, agent, sample, workflow


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of settings."""
    apps = [(text, text)] * many
    for is_direct in (True, False):
        shown = ShownSettings(text, True, "auto", apps, text, {"agent", "answers", "replies", "apps"}, True)
        yield sample(layout.settings_card, shown, text, may_change=True, is_direct=is_direct)
        for replies in ("mentions", "all"):
            shown = ShownSettings("", False, replies, apps)
            yield sample(layout.settings_card, shown, text, may_change=False, is_direct=is_direct)
    yield sample(layout.set_in_file, ["agent", "apps"])
    yield sample(layout.project_in_file, text)
    yield sample(layout.other_project, text, text)
    yield sample(layout.too_many_apps, 20)
    yield sample(layout.same_name, text, [f"A0123456789:{text}"] * many)
    changes = [
        SettingChange("project", "x", text),
        SettingChange("agent", "7", text),
        SettingChange("agent"),
        *(SettingChange("answers", now) for now in ("all", "mentions")),
        *(SettingChange("replies", now) for now in ("auto", "all", "mentions")),
        *(SettingChange("app", now, text, "A1", text, text) for now in ("agent", "workflow", "")),
        SettingChange(text, text),
    ]
    for change in changes:
        for where in ("this channel", layout.DIRECT, text):
            yield sample(layout.changed, [change], where)
    yield sample(layout.changed_notice, changes[:3], text)
    fields = [AppField("C1", text, agent(text), is_paused=True), AppField("C2", text, is_paused=True)]
    fields += [AppField(f"A{number}", text, agent(text), None) for number in range(many)]
    fields += [AppField(f"B{number}", text, None, workflow(text), edits=True) for number in range(many)]
    yield sample(
        settings_form, ORIGIN, text, agent(text), answers="all", replies="auto", is_direct=False, apps=fields,
        projects=[(f"p{number}", text) for number in range(many)],
    )  # fmt: skip
    yield sample(
        settings_form, ORIGIN, text, None, answers="mentions", replies="all", is_direct=True, fixed={"agent", "apps"}
    )
    for is_owner in (True, False):
        yield sample(rule_paused, text, CHANNEL, "user", text, is_owner=is_owner)
        yield sample(rule_paused, "", DIRECT, text, "", is_owner=is_owner)
