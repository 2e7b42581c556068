"""Shortcuts and forms: payloads and forms are read."""

from __future__ import annotations

from typing import Any

from bridge.door.listeners.interactions import parse_shortcut, parse_submission
from bridge.engine.forms import Form
from bridge.features.agents import asking
from bridge.features.channels import forms
from bridge.features.registry import features
from bridge.slack.blockkit.modals import FormErrors, Origin
from support.sample_posts import US
from support.tables import each


@each("odd", [{}, {"channel": 3, "message": [], "user": None}, {"message": {"text": 1}}])
def test_an_odd_value_in_a_payload_is_empty(odd: dict[str, Any]) -> None:
    assert parse_shortcut(odd, US).is_shared, "the person's workspace is unknown"
    assert parse_submission({"view": odd}, US).channel == ""


def test_a_form_of_another_release_has_no_channel() -> None:
    assert Origin.parse('{"channel": 3}') == Origin()


@each("value", ["", " ", "x", "9" * 5000])
@each("form", [known.form for feature in features.features for known in feature.forms.values()])
def test_errors_of_any_form_are_at_its_fields(form: type[Form], value: str) -> None:
    names = {field.name for field in form.fields.values()}

    for values in (dict.fromkeys(names, value), dict.fromkeys(names), {"of another version": value}):
        read = form.read(values)
        assert not isinstance(read, FormErrors) or read.by_block.keys() <= names


@each(
    ("values", "wrong"),
    [
        ({"agent": "7", "message": "x"}, set()),
        ({"agent": "", "message": "x"}, {"agent"}),
        ({"agent": "7", "message": " "}, {"message"}),
        ({}, {"agent", "message"}),
    ],
)
def test_an_invalid_value_in_the_form_is_shown_under_its_field(values: dict[str, str], wrong: set[str]) -> None:
    read = asking.AskForm.read(values)

    assert (set(read.by_block) if isinstance(read, FormErrors) else set()) == wrong


@each(
    ("values", "filled"),
    [
        (
            {"agent": "7", "answers": "all", "replies": "mentions"},
            forms.Filled({"agent": 7, "answers": "all", "replies": "mentions"}),
        ),
        ({"agent": "none"}, forms.Filled({"agent": None})),  # direct messages have no other settings
        ({"answers": "all"}, forms.Filled({"answers": "all"})),  # the operator's file set the agent
        ({"agent": ""}, FormErrors({"agent": "Choose an agent from the list."})),
        ({"agent": "9" * 5000}, FormErrors({"agent": "Choose an agent from the list."})),
        ({"agent": "7", "answers": "sometimes"}, FormErrors({"answers": "Choose one from the list."})),
        ({"agent": "7", "replies": "sometimes"}, FormErrors({"replies": "Choose one from the list."})),
    ],
)
def test_a_channels_settings_are_read_from_the_form(values: dict[str, str], filled: forms.Filled | FormErrors) -> None:
    assert forms.SettingsForm.read(values) == filled
