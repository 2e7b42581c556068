"""What a check takes of settings that are partly wrong."""

from __future__ import annotations

from pathlib import Path

from bridge.ops.check import Configured, what_is_configured
from bridge.settings import Settings, load, well_formed

GOOD = {
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_SIGNING_SECRET": "s",
    "PROJECT_BASE_URL": "https://project.example/",
    "PROJECT_API_KEY": "k",
    "REDIS_URL": "redis://localhost",
    "BRIDGE_RUNNERS": "U123,S123",
}


def test_good_settings_are_all_well_formed_and_as_they_are_loaded() -> None:
    settings = load(GOOD)

    loaded = {str(field.alias): getattr(settings, name) for name, field in Settings.model_fields.items()}
    assert well_formed(GOOD) == loaded


def test_what_is_missing_or_malformed_is_left_out_and_the_rest_is_there() -> None:
    broken = {**GOOD, "SLACK_BOT_TOKEN": "xoxp-1", "BRIDGE_MAX_AGE": "soon", "REDIS_URL_FILE": "/nowhere"}
    del broken["PROJECT_API_KEY"]

    values = well_formed(broken)

    assert well_formed(GOOD).keys() - values.keys() == {
        "SLACK_BOT_TOKEN",
        "BRIDGE_MAX_AGE",
        "PROJECT_API_KEY",
        "REDIS_URL",
    }
    assert values["PROJECT_BASE_URL"] == "https://project.example"


def test_what_can_be_probed_is_taken() -> None:
    assert what_is_configured(well_formed(GOOD), embedded_redis=True) == Configured(
        slack_api_url="https://slack.com/api/",
        bot_token="xoxb-1",
        signing_secret="s",
        required_scopes=("usergroups:read",),
        namespace="bridge",
        redis_url="redis://localhost",
        project_base_url="https://project.example",
        project_api_key="k",
    )


def test_the_embedded_redis_is_looked_at_only_where_no_other_is_named_and_it_was_asked_for() -> None:
    values = well_formed({"BRIDGE_DATA_DIR": "/data"})

    assert what_is_configured(values, embedded_redis=True).embedded_in == Path("/data")
    assert what_is_configured(values, embedded_redis=False).embedded_in is None
    assert what_is_configured({**values, **well_formed(GOOD)}, embedded_redis=True).embedded_in is None


def test_of_nothing_only_the_defaults_are_there() -> None:
    configured = what_is_configured(well_formed({}), embedded_redis=False)

    assert configured == Configured(slack_api_url="https://slack.com/api/", namespace="bridge")
