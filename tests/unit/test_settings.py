"""What the environment may say, and what is said about it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from bridge.errors import ConfigurationError
from bridge.settings import Settings, environment, load, unknown_names

NEEDED = {
    "SLACK_BOT_TOKEN": "xoxb-1-made-up",
    "SLACK_SIGNING_SECRET": "made-up-signing-secret",
    "PROJECT_BASE_URL": "https://project.example/api/",
    "PROJECT_API_KEY": "made-up-key",
    "REDIS_URL": "redis://:hidden@localhost:6379/0",
}
SECRETS = ("xoxb-1-made-up", "made-up-signing-secret", "made-up-key", "hidden")


def problems_of(environ: Mapping[str, str], *, embedded_redis: bool = False) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as caught:
        load(environ, embedded_redis=embedded_redis)
    return caught.value.problems


def test_the_needed_variables_are_enough() -> None:
    settings = load(NEEDED)

    assert settings.slack_bot_token.get_secret_value() == "xoxb-1-made-up"
    assert settings.slack_api_url == "https://slack.com/api/"
    assert settings.project_base_url == "https://project.example/api"
    assert (settings.host, settings.port, settings.namespace) == ("0.0.0.0", 3000, "bridge")
    assert (settings.chat_timeout, settings.run_timeout) == (timedelta(minutes=2), timedelta(minutes=15))
    assert (settings.max_age, settings.session_lifetime) == (timedelta(days=1), timedelta(days=90))
    assert (settings.drain_timeout, settings.max_turns) == (timedelta(seconds=25), 1000)
    assert settings.allowed_channels == settings.allowed_users == settings.runners == frozenset()
    assert (settings.thread_replies, settings.log_format, settings.log_level) == ("all", "console", "INFO")


def test_all_problems_are_reported_at_once_in_the_order_of_the_documentation() -> None:
    problems = problems_of({"BRIDGE_PORT": "many", "PROJECT_API_KEY": "k", "BRIDGE_MAX_AGE": "old"})

    assert [problem.split()[0] for problem in problems] == [
        "SLACK_BOT_TOKEN",
        "SLACK_SIGNING_SECRET",
        "PROJECT_BASE_URL",
        "REDIS_URL",
        "BRIDGE_PORT",
        "BRIDGE_MAX_AGE",
    ]
    assert all("\n" not in problem for problem in problems)


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("SLACK_BOT_TOKEN", "xoxp-1234", "begins with xoxp-…: use the bot token xoxb-…"),
        ("SLACK_BOT_TOKEN", "xapp-1234", "begins with xapp-…: use the bot token xoxb-…"),
        ("SLACK_BOT_TOKEN", "xoxe.xoxb-1234", "begins with xoxe.xoxb-…: use the bot token xoxb-…"),
        ("SLACK_BOT_TOKEN", "hunter2", "does not begin with xoxb-: use the bot token xoxb-…"),
        ("SLACK_BOT_TOKEN", "xoxb-12 34", "holds spaces"),
        ("SLACK_SIGNING_SECRET", "xoxb-1234", "begins with xoxb-…, a Slack token: put the signing secret here"),
        ("PROJECT_API_KEY", "xoxb-1234", "begins with xoxb-…, a Slack token: put the project's key here"),
        ("PROJECT_API_KEY", "ключ", "holds spaces or characters"),
        ("PROJECT_BASE_URL", "project.example", "is not a web address"),
        ("PROJECT_BASE_URL", "ftp://project.example", "is not a web address"),
        ("PROJECT_BASE_URL", "https://me:1234@project.example", "has a query, a fragment or a password in it"),
        ("PROJECT_BASE_URL", "https://project.example:port", "is not an address"),
        ("SLACK_API_URL", "https://", "is not a web address"),
        ("REDIS_URL", "localhost:6379", "is not an address of Redis"),
        ("REDIS_URL", "http://localhost:6379", "is not an address of Redis"),
        ("REDIS_URL", "redis://localhost:6379/first", "is not an address of Redis"),
        ("REDIS_URL", "unix://relative", "is not an address of Redis"),
        ("REDIS_URL", "redis+sentinel://a:1,b:1234", "is not an address of a sentinel: use one like redis+sentinel://"),
        ("REDIS_URL", "rediss+cluster://a:1,b:1234/7", "is not an address of a cluster: use one like redis+cluster://"),
        ("SLACK_APP_TOKEN", "xoxb-1234", "begins with xoxb-…: use the app-level token xapp-…"),
        ("BRIDGE_NAMESPACE", "a{b}", "has characters that it cannot have"),
        ("BRIDGE_COMMAND_PREFIX", "Acme ", "has characters that it cannot have"),
        ("BRIDGE_PORT", "65536", "is not a whole number from 0 to 65535"),
        ("BRIDGE_MAX_TURNS", "0", "is not a whole number from 1 to"),
        ("BRIDGE_CHAT_TIMEOUT", "0", "is out of range: use more than 0 and at most 1d"),
        ("BRIDGE_DRAIN_SECONDS", "2h", "is out of range: use at most 1h"),
        ("BRIDGE_MAX_AGE", "1y", "is not a length of time"),
        ("BRIDGE_MAX_AGE", "-5", "is not a length of time"),
        ("BRIDGE_SESSION_DAYS", "999999999", "is out of range"),
        ("BRIDGE_THREAD_REPLIES", "some", "is none of its values: use all or mentions"),
        ("BRIDGE_LOG_FORMAT", "xml", "is none of its values: use console or json"),
        ("BRIDGE_ALLOWED_CHANNELS", "C0123,general", "is wrong at entry 2: use a channel id"),
        ("BRIDGE_ALLOWED_USERS", "S0123", "is wrong at entry 1: use a user id"),
        ("BRIDGE_RUNNERS", "U0123, @anna", "is wrong at entry 2: use a user id (U… or W…) or a user group id"),
    ],
)
def test_a_malformed_value_is_named_with_its_cure_and_never_shown(variable: str, value: str, problem: str) -> None:
    (line,) = problems_of({**NEEDED, variable: value})

    assert line.startswith(f"{variable} {problem}")
    for secret in ("1234", "hunter2", "ключ"):
        assert secret not in line


@pytest.mark.parametrize(
    "url",
    [
        "redis://h",
        "redis://h:1/2",
        "rediss://u:p%40@h:1?ssl_check_hostname=false",
        "unix:///s",
        "redis+sentinel://u:p%40@a:1,b:2/main/0",
        "rediss+cluster://a:1,b:2",
    ],
)
def test_addresses_of_redis_are_accepted(url: str) -> None:
    redis_url = load({**NEEDED, "REDIS_URL": url}).redis_url

    assert redis_url is not None
    assert redis_url.get_secret_value() == url


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("3600", timedelta(hours=1)),
        ("24h", timedelta(days=1)),
        ("90m", timedelta(minutes=90)),
        ("1d", timedelta(days=1)),
        ("1.5 h", timedelta(minutes=90)),
    ],
)
def test_a_length_of_time_has_a_unit_or_is_in_seconds(text: str, length: timedelta) -> None:
    assert load({**NEEDED, "BRIDGE_MAX_AGE": text}).max_age == length


def test_session_days_are_days_without_a_unit() -> None:
    assert load({**NEEDED, "BRIDGE_SESSION_DAYS": "30"}).session_lifetime == timedelta(days=30)


def test_lists_of_ids_are_sets() -> None:
    settings = load({**NEEDED, "BRIDGE_ALLOWED_CHANNELS": "C01, G02,C01,", "BRIDGE_RUNNERS": "U01,W02,S03"})

    assert settings.allowed_channels == {"C01", "G02"}
    assert settings.runners == {"U01", "W02", "S03"}


def test_an_empty_variable_is_not_set() -> None:
    assert load({**NEEDED, "BRIDGE_PORT": " ", "SLACK_APP_TOKEN": ""}).port == 3000
    assert problems_of({**NEEDED, "PROJECT_API_KEY": " "})[0].startswith("PROJECT_API_KEY is missing")


def test_socket_mode_needs_no_signing_secret_and_http_does() -> None:
    without = {name: value for name, value in NEEDED.items() if name != "SLACK_SIGNING_SECRET"}

    settings = load({**without, "SLACK_APP_TOKEN": "xapp-1-A0123456789"})

    assert settings.slack_signing_secret is None
    (line,) = problems_of(without)
    assert line.startswith("SLACK_SIGNING_SECRET is missing: set it, or set SLACK_APP_TOKEN")


def test_a_missing_redis_mentions_the_flag_and_the_flag_makes_it_unnecessary() -> None:
    without = {name: value for name, value in NEEDED.items() if name != "REDIS_URL"}

    (line,) = problems_of(without)

    assert "--embedded-redis" in line
    assert load(without, embedded_redis=True).redis_url is None


def test_a_value_may_stand_in_a_file(tmp_path: Path) -> None:
    without = {name: value for name, value in NEEDED.items() if name != "PROJECT_API_KEY"}
    (tmp_path / "key").write_text("from-a-file\n")

    settings = load({**without, "PROJECT_API_KEY_FILE": str(tmp_path / "key")})

    assert settings.project_api_key.get_secret_value() == "from-a-file"


def test_a_file_that_is_missing_empty_or_beside_a_value_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    without = {name: value for name, value in NEEDED.items() if name == "SLACK_BOT_TOKEN"}

    problems = problems_of(
        {
            **without,
            "SLACK_BOT_TOKEN_FILE": str(tmp_path / "empty"),
            "SLACK_SIGNING_SECRET_FILE": str(tmp_path / "nowhere"),
            "PROJECT_BASE_URL_FILE": str(tmp_path / "empty"),
            "PROJECT_API_KEY_FILE": str(tmp_path / "binary"),
            "REDIS_URL_FILE": str(tmp_path),
        }
    )

    assert problems == (
        "SLACK_BOT_TOKEN and SLACK_BOT_TOKEN_FILE are both set: remove one of them",
        (
            "SLACK_SIGNING_SECRET cannot be read from the file that SLACK_SIGNING_SECRET_FILE names "
            "(No such file or directory): mend SLACK_SIGNING_SECRET_FILE"
        ),
        "PROJECT_BASE_URL is empty in the file that PROJECT_BASE_URL_FILE names: put the value there",
        (
            "PROJECT_API_KEY cannot be read from the file that PROJECT_API_KEY_FILE names "
            "(not text): mend PROJECT_API_KEY_FILE"
        ),
        "REDIS_URL cannot be read from the file that REDIS_URL_FILE names (Is a directory): mend REDIS_URL_FILE",
    )


def test_the_data_folder_follows_the_platform_unless_it_is_named() -> None:
    assert load({**NEEDED, "XDG_DATA_HOME": "/data/of/me"}).data_dir == Path("/data/of/me/bridge")
    assert load({**NEEDED, "BRIDGE_DATA_DIR": "~/here"}).data_dir == Path.home() / "here"


def test_settings_show_no_secret_and_cannot_be_changed() -> None:
    settings = load(NEEDED)

    shown = f"{settings!r} {settings} {settings.model_dump_json()}"

    assert not [secret for secret in SECRETS if secret in shown]
    with pytest.raises(ValidationError, match="frozen"):
        settings.port = 1


def test_an_error_holds_no_secret_in_its_chain_either() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load({**NEEDED, "BRIDGE_PORT": "xoxb-1-made-up"})

    assert "xoxb-1" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_the_process_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("BRIDGE_PORT=1\nBRIDGE_HOST='::1' # here\nPROJECT_API_KEY=a${b}c\nREDIS_URL=\n")

    environ = environment({"BRIDGE_PORT": "2", "BRIDGE_HOST_FILE": "/h"}, tmp_path / ".env")

    assert environ == {"BRIDGE_PORT": "2", "BRIDGE_HOST_FILE": "/h", "PROJECT_API_KEY": "a${b}c"}


def test_an_empty_variable_of_the_process_does_not_hide_the_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("BRIDGE_PORT=1\n")

    assert environment({"BRIDGE_PORT": ""}, tmp_path / ".env") == {"BRIDGE_PORT": "1"}


def test_there_need_be_no_file_but_one_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"\xff\xfe")

    assert environment({"A": "1"}, tmp_path / "nowhere") == {"A": "1"}
    with pytest.raises(ConfigurationError, match="cannot be read"):
        environment({}, tmp_path / ".env")


def test_an_unknown_name_is_named_with_its_nearest() -> None:
    lines = unknown_names(
        {"BRIDGE_PROT": "1", "BRIDGE_XYZZY": "1", "BRIDGE_HOST": "h", "BRIDGE_RUNNERS_FILE": "f", "A": ""}
    )

    assert lines == ["BRIDGE_PROT is not a setting: did you mean BRIDGE_PORT?", "BRIDGE_XYZZY is not a setting"]


def test_every_field_is_explained() -> None:
    assert all(field.description and field.alias for field in Settings.model_fields.values())


@pytest.mark.parametrize(
    ("content", "now"),
    [
        ("xoxb-2-made-up\n", "xoxb-2-made-up"),
        ("", "xoxb-1-made-up"),
        ("xoxp-2-made-up", "xoxb-1-made-up"),
        (None, "xoxb-1-made-up"),
    ],
)
def test_the_bot_token_is_read_from_its_file_again(tmp_path: Path, content: str | None, now: str) -> None:
    file = tmp_path / "token"
    file.write_text("xoxb-1-made-up")
    environ = {name: value for name, value in NEEDED.items() if name != "SLACK_BOT_TOKEN"}
    settings = load({**environ, "SLACK_BOT_TOKEN_FILE": str(file)})

    if content is None:
        file.unlink()
    else:
        file.write_text(content)

    assert settings.bot_token_now() == now
    assert load(NEEDED).bot_token_now() == "xoxb-1-made-up"
