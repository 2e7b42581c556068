"""Environment variables: accepted values and error messages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from bridge.errors import ConfigurationError
from bridge.settings import VARIABLES, Settings, environment, load, unknown_variables
from support.tables import each

NEEDED = {
    "SLACK_BOT_TOKEN": "xoxb-1-made-up",
    "SLACK_SIGNING_SECRET": "made-up-signing-secret",
    "PROJECT_BASE_URL": "https://project.example/api/",
    "PROJECT_API_KEY": "made-up-key",
    "REDIS_URL": "redis://:hidden@localhost:6379/0",
}
SECRETS = ("xoxb-1-made-up", "made-up-signing-secret", "made-up-key", "hidden")


def without(name: str) -> dict[str, str]:
    return {other: value for other, value in NEEDED.items() if other != name}


def problems_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as caught:
        load(environ)
    return caught.value.problems


def test_the_required_variables_are_sufficient() -> None:
    settings = load(NEEDED)

    assert settings.slack_bot_token.get_secret_value() == "xoxb-1-made-up"
    assert settings.slack_api_url == "https://slack.com/api/"
    assert settings.project_base_url == "https://project.example/api"
    assert (settings.host, settings.port, settings.namespace) == ("0.0.0.0", 3000, "bridge")
    assert (settings.chat_timeout, settings.run_timeout) == (timedelta(minutes=2), timedelta(minutes=15))
    assert (settings.max_age, settings.session_lifetime) == (timedelta(days=1), timedelta(days=90))
    assert (settings.drain, settings.max_turns) == (timedelta(seconds=130), 1000)
    assert settings.allowed_channels == settings.allowed_users == settings.runners == frozenset()
    assert (settings.thread_replies, settings.log_format, settings.log_level) == ("auto", "console", "INFO")


@each(
    ("environ", "host"),
    [
        ({}, "0.0.0.0"),
        ({"SLACK_APP_TOKEN": "xapp-1-a"}, "127.0.0.1"),
        ({"SLACK_APP_TOKEN": "xapp-1-a", "BRIDGE_HOST": "::"}, "::"),
    ],
)
def test_in_socket_mode_only_this_machine_is_served(environ: dict[str, str], host: str) -> None:
    assert load({**NEEDED, **environ}).host == host


@each(("variable", "mark"), [(variable, mark) for variable in VARIABLES for mark in "\"'"])
def test_quotation_marks_around_a_value_are_one_line(variable: str, mark: str) -> None:
    given = {**NEEDED, variable: f"{mark}{NEEDED.get(variable, 'value')}{mark}"}

    (line,) = problems_of(given)

    assert line == f"{variable} has quotation marks around its value: remove them (docker run --env-file keeps them)"


def test_a_byte_order_mark_in_a_secrets_file_is_not_part_of_the_value(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("U0AAA, U0BBB\r\n", encoding="utf-8-sig")

    settings = load({**NEEDED, "BRIDGE_ALLOWED_USERS_FILE": str(tmp_path / "users")})

    assert settings.allowed_users == {"U0AAA", "U0BBB"}


def test_quotation_marks_around_the_path_of_a_secret_are_named(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k-1")
    environ = {**NEEDED, "PROJECT_API_KEY_FILE": f'"{tmp_path}/key"'}
    del environ["PROJECT_API_KEY"]

    (line,) = problems_of(environ)

    assert line.startswith("PROJECT_API_KEY can't be read from its file (its path is in quotation marks)")


def test_all_problems_are_reported_at_once_in_the_documented_order() -> None:
    problems = problems_of({"BRIDGE_PORT": "many", "PROJECT_API_KEY": "k", "BRIDGE_MAX_AGE": "old"})

    assert [problem.split()[0] for problem in problems] == [
        "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "PROJECT_BASE_URL", "REDIS_URL", "BRIDGE_PORT", "BRIDGE_MAX_AGE",
    ]  # fmt: skip
    assert all("\n" not in problem for problem in problems)


@each(
    ("variable", "value", "problem"),
    [
        ("SLACK_BOT_TOKEN", "xoxp-1234", "starts with xoxp-…: use the bot token (xoxb-…)"),
        ("SLACK_BOT_TOKEN", "xapp-1234", "starts with xapp-…: use the bot token (xoxb-…)"),
        (
            "SLACK_BOT_TOKEN",
            "xoxe.xoxb-1234",
            "starts with xoxe.xoxb-…, so it expires: use an app without token rotation",
        ),
        ("SLACK_BOT_TOKEN", "hunter2", "doesn't start with xoxb-: use the bot token (xoxb-…)"),
        ("SLACK_BOT_TOKEN", "xoxb-12 34", "contains spaces"),
        ("SLACK_SIGNING_SECRET", "xoxb-1234", "starts with xoxb-…, so it's a Slack token: use the signing secret"),
        ("PROJECT_API_KEY", "xoxb-1234", "starts with xoxb-…, so it's a Slack token: use the project's key"),
        ("PROJECT_API_KEY", "ключ", "contains spaces or special characters: copy the project's key again"),
        ("PROJECT_API_KEY", " ", "is missing: set it to the project's API key (apiKey)"),
        ("PROJECT_BASE_URL", "project.example", "isn't a web address: use one such as https://project.example.com"),
        ("PROJECT_BASE_URL", "ftp://project.example", "isn't a web address: use one such as https://"),
        ("PROJECT_BASE_URL", "https://me:1234@project.example", "has a query, a fragment or a password"),
        ("PROJECT_BASE_URL", "https://project.example:port", "isn't a valid address"),
        ("SLACK_API_URL", "https://", "isn't a web address: use one such as https://slack.com/api/"),
        ("REDIS_URL", "localhost:6379", "isn't a Redis address: use one such as redis://"),
        ("REDIS_URL", "http://localhost:6379", "isn't a Redis address: use one such as redis://"),
        ("REDIS_URL", "redis://localhost:6379/first", "isn't a Redis address: use one such as redis://"),
        ("REDIS_URL", "unix://relative", "isn't a Redis address: use one such as redis://"),
        (
            "REDIS_URL",
            "redis+sentinel://a:1,b:1234",
            "isn't a valid sentinel address: use one such as redis+sentinel://",
        ),
        (
            "REDIS_URL",
            "rediss+cluster://a:1,b:1234/7",
            "isn't a valid cluster address: use one such as redis+cluster://",
        ),
        ("REDIS_URL", "redis+cluster://a:1,:1234", "isn't a valid cluster address: use one such as redis+cluster://"),
        ("SLACK_APP_TOKEN", "xoxb-1234", "starts with xoxb-…: use the app-level token (xapp-…)"),
        ("BRIDGE_NAMESPACE", "a{b}", "has unsupported characters or is too long"),
        ("BRIDGE_COMMAND_PREFIX", "Acme ", "has unsupported characters or is too long"),
        ("BRIDGE_PORT", "65536", "isn't a whole number from 0 to 65535: use one such as 3000"),
        ("BRIDGE_MAX_TURNS", "0", "isn't a whole number from 1 to"),
        ("BRIDGE_CHAT_TIMEOUT", "0", "is out of range: use more than 0 and at most 1d"),
        ("BRIDGE_DRAIN_SECONDS", "2h", "is out of range: use at most 1h"),
        ("BRIDGE_MAX_AGE", "1y", "isn't a duration"),
        ("BRIDGE_MAX_AGE", "-5", "isn't a duration"),
        ("BRIDGE_SESSION_DAYS", "999999999", "is out of range"),
        ("BRIDGE_THREAD_REPLIES", "some", "has an unknown value: use auto, all or mentions"),
        ("BRIDGE_LOG_FORMAT", "xml", "has an unknown value: use console or json"),
        (
            "BRIDGE_ALLOWED_CHANNELS",
            "C0123,general",
            "has an invalid entry (number 2): use channel IDs separated by commas, such as C0ABCDEFGHI,C0JKLMNOPQR",
        ),
        ("BRIDGE_ALLOWED_USERS", "S0123", "has an invalid entry (number 1): use member IDs separated by commas"),
        ("BRIDGE_RUNNERS", "U0123, @anna", "has an invalid entry (number 2): use IDs of people and user groups"),
        ("BRIDGE_RUN_URL", "p.example/{runId}", "isn't a web address: use one such as https://project.example.com/"),
        (
            "BRIDGE_RUN_URL",
            "ftp://p.example/{runId}",
            "isn't a web address: use one such as https://project.example.com/",
        ),
        (
            "BRIDGE_RUN_URL",
            "https://{runId}.example/",
            "isn't a web address: use one such as https://project.example.com/",
        ),
        ("BRIDGE_RUN_URL", "https://p.example/runs", "needs {runId} and besides {id} no other placeholder: use"),
        ("BRIDGE_RUN_URL", "https://p.example/{runId}/{run}", "needs {runId} and besides {id} no other"),
        ("BRIDGE_AGENT_URL", "https://p.example/{agent}", "needs {id} and no other placeholder: use one"),
        ("BRIDGE_WORKFLOW_URL", "https://p.example/{id}}", "needs {id} and no other placeholder: use one"),
        ("BRIDGE_DATA_DIR", "~nobody-1234/x", "isn't a usable path: use an absolute one such as /var"),
    ],
)
def test_a_malformed_value_is_named_with_its_fix_but_not_shown(variable: str, value: str, problem: str) -> None:
    (line,) = problems_of({**NEEDED, variable: value})

    assert line.startswith(f"{variable} {problem}")
    assert not [secret for secret in ("1234", "hunter2", "ключ") if secret in line]


@each(
    ("variable", "text", "value"),
    [
        *(
            ("REDIS_URL", url, SecretStr(url))
            for url in (
                "redis://h", "redis://h:1/2", "rediss://u:p%40@h:1?ssl_check_hostname=false", "unix:///s",
                "redis+sentinel://u:p%40@a:1,b:2/main/0", "rediss+cluster://a:1,b:2",
            )
        ),
        ("PROJECT_BASE_URL", "https://h/", "https://h"),
        ("PROJECT_BASE_URL", "https://h/path/api/sdk/", "https://h/path"),
        ("SLACK_API_URL", "https://h/api", "https://h/api/"),
        ("BRIDGE_MAX_AGE", "3600", timedelta(hours=1)),
        ("BRIDGE_MAX_AGE", "24h", timedelta(days=1)),
        ("BRIDGE_MAX_AGE", "90m", timedelta(minutes=90)),
        ("BRIDGE_MAX_AGE", "1d", timedelta(days=1)),
        ("BRIDGE_MAX_AGE", "1.5 h", timedelta(minutes=90)),
        ("BRIDGE_SESSION_DAYS", "30", timedelta(days=30)),
        ("BRIDGE_ALLOWED_CHANNELS", "C01, G02,C01,", {"C01", "G02"}),
        ("BRIDGE_RUNNERS", "U01,W02,S03", {"U01", "W02", "S03"}),
        ("BRIDGE_PORT", " ", 3000),
        ("SLACK_APP_TOKEN", "", None),
        ("BRIDGE_DATA_DIR", "~/here", Path.home() / "here"),
        ("BRIDGE_LOG_LEVEL", "debug", "DEBUG"),
    ],
)  # fmt: skip
def test_a_text_becomes_its_value(variable: str, text: str, value: Any) -> None:
    settings = load({**NEEDED, variable: text})

    attribute = next(name for name, field in Settings.model_fields.items() if field.alias == variable)
    assert getattr(settings, attribute) == value


def test_the_data_folder_follows_the_platform() -> None:
    assert load({**NEEDED, "XDG_DATA_HOME": "/data/of/me"}).data_dir == Path("/data/of/me/bridge")


def test_only_socket_mode_needs_no_signing_secret() -> None:
    settings = load({**without("SLACK_SIGNING_SECRET"), "SLACK_APP_TOKEN": "xapp-1-A0123456789"})

    assert settings.slack_signing_secret is None
    (line,) = problems_of(without("SLACK_SIGNING_SECRET"))
    how = "set it to the app-level token (xapp-…) for Socket Mode, or set SLACK_SIGNING_SECRET for HTTP"
    assert line == f"SLACK_APP_TOKEN is missing: {how}"


def test_the_embedded_redis_has_to_be_chosen(tmp_path: Path) -> None:
    (line,) = problems_of(without("REDIS_URL"))

    assert line.endswith("or to embedded (one machine only)")
    assert load({**NEEDED, "REDIS_URL": "embedded"})
    assert load(environment(without("REDIS_URL"), tmp_path / ".env", embedded_redis=True))


@pytest.mark.parametrize("name", ["REDIS_URL", "REDIS_URL_FILE"])
def test_a_configured_redis_goes_before_the_embedded_one(name: str, tmp_path: Path) -> None:
    own = {name: "redis://own"}

    assert environment(own, tmp_path / ".env", embedded_redis=True) == own


def test_a_collector_needs_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {**NEEDED, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/"}

    assert load(given).otel_endpoint == "http://collector:4318"
    monkeypatch.setattr("sys.path", [])
    (line,) = problems_of(given)
    assert line == (
        "OTEL_EXPORTER_OTLP_ENDPOINT needs an extra: pip install 'slack-project-bridge[otel]', or remove it"
    )


def test_a_file_that_is_missing_empty_or_beside_a_value_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")

    problems = problems_of(
        {
            "SLACK_BOT_TOKEN": "xoxb-1",
            "SLACK_BOT_TOKEN_FILE": str(tmp_path / "empty"),
            "SLACK_SIGNING_SECRET_FILE": str(tmp_path / "nowhere"),
            "PROJECT_BASE_URL_FILE": str(tmp_path / "empty"),
            "PROJECT_API_KEY_FILE": str(tmp_path / "binary"),
            "REDIS_URL_FILE": str(tmp_path),
            "BRIDGE_DEFAULT_AGENT_FILE": str(tmp_path / "empty"),
            "BRIDGE_CONFIG": "bridge\0.toml",
            "BRIDGE_RUN_URL_FILE": "run\0url",  # from .env
        }
    )

    unread = "{0} can't be read from its file ({1}): set {0}_FILE to a readable file"
    empty = "{0} is empty in its file: write the value to the file that {0}_FILE names"
    assert problems == (
        "SLACK_BOT_TOKEN and SLACK_BOT_TOKEN_FILE are both set: remove one of them",
        unread.format("SLACK_SIGNING_SECRET", "No such file or directory"),
        empty.format("PROJECT_BASE_URL"),
        unread.format("PROJECT_API_KEY", "not text"),
        "BRIDGE_CONFIG isn't a usable path: use an absolute one such as /var/lib/bridge",
        unread.format("REDIS_URL", "Is a directory"),
        empty.format("BRIDGE_DEFAULT_AGENT"),
        unread.format("BRIDGE_RUN_URL", "not text"),
    )


def test_settings_show_no_secret_and_cannot_be_changed() -> None:
    settings = load(NEEDED)

    shown = f"{settings!r} {settings} {settings.model_dump_json()}"

    assert not [secret for secret in SECRETS if secret in shown]
    with pytest.raises(ValidationError, match="frozen"):
        settings.port = 1


def test_an_errors_chain_holds_no_secret() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load({**NEEDED, "BRIDGE_PORT": "xoxb-1-made-up"})

    assert "xoxb-1" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("process", "joined"),
    [
        (
            {"BRIDGE_PORT": "2", "BRIDGE_HOST_FILE": "/h"},
            {"BRIDGE_PORT": "2", "BRIDGE_HOST_FILE": "/h", "PROJECT_API_KEY": "a${b}c"},
        ),
        ({"BRIDGE_PORT": ""}, {"BRIDGE_PORT": "1", "BRIDGE_HOST": "::1", "PROJECT_API_KEY": "a${b}c"}),
    ],
)
def test_the_environment_overrides_the_file_unless_empty(
    tmp_path: Path, process: dict[str, str], joined: dict[str, str]
) -> None:
    (tmp_path / ".env").write_text(
        "\ufeffBRIDGE_PORT=1\nBRIDGE_HOST='::1' # here\nPROJECT_API_KEY=a${b}c\nREDIS_URL=\n", encoding="utf-8"
    )

    assert environment(process, tmp_path / ".env") == joined


def test_a_missing_env_file_is_fine_and_an_unreadable_one_a_problem(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"\xff\xfe")

    assert environment({"A": "1"}, tmp_path / "nowhere") == {"A": "1"}
    with pytest.raises(ConfigurationError, match="can't be read"):
        environment({}, tmp_path / ".env")


OF_SERVICE = {
    "BRIDGE_SERVICE_HOST": "10.0.0.1",
    "BRIDGE_SERVICE_PORT": "80",
    "BRIDGE_SERVICE_PORT_HTTP": "80",
    "BRIDGE_PORT": "tcp://10.0.0.1:80",
    "BRIDGE_PORT_80_TCP": "tcp://10.0.0.1:80",
    "BRIDGE_PORT_80_TCP_PROTO": "tcp",
    "BRIDGE_PORT_80_TCP_PORT": "80",
    "BRIDGE_PORT_80_TCP_ADDR": "10.0.0.1",
    "BRIDGE_REDIS_SERVICE_HOST": "10.0.0.2",
    "BRIDGE_REDIS_PORT": "tcp://[fd00::2]:6379",
}
"""What Kubernetes sets for Services named bridge and bridge-redis."""


@pytest.mark.parametrize(
    ("line", "own", "port", "warnings"),
    [
        ("", {}, 3000, ["BRIDGE_PORT is ignored"]),
        ("BRIDGE_PORT=8080\n", {}, 8080, []),
        ("", {"BRIDGE_PORT": "9000"}, 9000, []),
        ("BRIDGE_PORT=8080\n", {"BRIDGE_PORT": "9000"}, 9000, []),
    ],
)
def test_variables_of_kubernetes_services_are_ignored(
    tmp_path: Path, line: str, own: dict[str, str], port: int, warnings: list[str]
) -> None:
    (tmp_path / ".env").write_text(line)

    environ = environment({**NEEDED, **OF_SERVICE, **own}, tmp_path / ".env")

    assert load(environ).port == port
    assert [one.partition(",")[0] for one in unknown_variables(environ)] == warnings


def test_an_unknown_name_is_named_with_its_nearest() -> None:
    unknown = (
        "BRIDGE_MAX_TRUNS_OF_ALL", "BRIDGE_REDIS_URL", "BRIDGE_FOO", "BRIDGE_MODE", "BRIDGE_XYZZY", "BRIDGE_PROT",
        "bridge_port",
    )  # fmt: skip

    lines = unknown_variables({**dict.fromkeys((*unknown, "BRIDGE_HOST", "BRIDGE_RUNNERS_FILE"), "1"), "A": ""})

    assert lines == [
        "BRIDGE_FOO isn't a setting",
        "BRIDGE_MAX_TRUNS_OF_ALL isn't a setting",
        "BRIDGE_MODE isn't a setting",
        "BRIDGE_PROT isn't a setting: did you mean BRIDGE_PORT?",
        "BRIDGE_REDIS_URL isn't a setting: did you mean REDIS_URL?",
        "BRIDGE_XYZZY isn't a setting",
        "bridge_port isn't a setting: did you mean BRIDGE_PORT?",
    ]


def slips_of(process: Mapping[str, str], file: Path) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as caught:
        environment(process, file)
    return caught.value.problems


UNPARSED = "can't be parsed: write it as BRIDGE_ALLOWED_USERS=value"
RENAMED = "sets BRIDGE_ALLOWED_USERS under another name: write it as BRIDGE_ALLOWED_USERS=value"


@each(
    ("line", "problem"),
    [
        ("BRIDGE_ALLOWED_USERS: U0SECRET", UNPARSED),
        ("BRIDGE_ALLOWED_USERS:U0SECRET", UNPARSED),
        ("BRIDGE_ALLOWED_USERS U0SECRET", UNPARSED),
        ("BRIDGE_ALLOWED_USERS", UNPARSED),
        ("export BRIDGE_ALLOWED_USERS U0SECRET", UNPARSED),
        ("bridge_allowed_users: U0SECRET", UNPARSED),
        ('BRIDGE_ALLOWED_USERS="U0SECRET', f"{UNPARSED} and close its quotation marks"),
        ("BRIDGE_ALLOWED_USERS='U0SECRET", f"{UNPARSED} and close its quotation marks"),
        ('BRIDGE_ALLOWED_USERS="U0SECRET" U0OTHER', f"{UNPARSED} and close its quotation marks"),
        ("a line of U0SECRET", "can't be parsed: write it as NAME=value"),
        ("xoxb-U0SECRET", "can't be parsed: write it as NAME=value"),
        ("BRIDGE-ALLOWED-USERS=U0SECRET", RENAMED),
        ("bridge_allowed_users=U0SECRET", RENAMED),
        ("BRIDGE_ALLOWED_USER=U0SECRET", RENAMED),
        ("BRIDGE_ALOWED_USERS=U0SECRET", RENAMED),
        ("BRIDGE_ALLOWED_UESRS=U0SECRET", RENAMED),
        ("BRIGDE_ALLOWED_USERS=U0SECRET", RENAMED),
        ("BRIDGE_ALLOW_USERS=U0SECRET", RENAMED),
        ("$env:BRIDGE_ALLOWED_USERS=U0SECRET", RENAMED),
        ("BRIDGE_ALLOWED_USERS:=U0SECRET", RENAMED),
        ("BRIDGE_ALLOWED_USERS+=U0SECRET", RENAMED),
        ('"BRIDGE_ALLOWED_USERS"=U0SECRET', RENAMED),
        ("BRIDGE_ALLOWED_USERS_FLIE=U0SECRET", RENAMED.replace("USERS", "USERS_FILE")),
        ("ALLOWED_USERS=U0SECRET", RENAMED),
        ("BRIDGE.ALLOWED.USERS=U0SECRET", RENAMED),
        ("BRIDGE_USERS_ALLOWED=U0SECRET", RENAMED),
        ("SLACK_ALLOWED_USER_IDS=U0SECRET", RENAMED),
        ("RUNNERS=U0SECRET", RENAMED.replace("ALLOWED_USERS", "RUNNERS")),
        (
            "BRIDGE_ALLOWED_USERS='U0SECRET\nBRIDGE_RUNNERS=U1'",
            "has a value of several lines: close the quotation marks in its first line",
        ),
        (
            "OTHER='U0SECRET\nBRIDGE_RUNNERS=U1'",
            "has a value of several lines: close the quotation marks in its first line",
        ),
    ],
)
def test_a_slip_in_the_file_is_named_with_its_line_and_cure(tmp_path: Path, line: str, problem: str) -> None:
    file = tmp_path / ".env"
    file.write_text(f"# settings\n\nA=1\r\n\n{line}\n")

    assert slips_of({}, file) == (f"{file} line 5 {problem}",)
    with pytest.raises(ConfigurationError, match=" line 5 "):
        load(environment(NEEDED, file, slips=(slips := list[str]())), slips)


@each(
    "name",
    [
        "BRIDGE_ALLOWED_USER", "bridge_allowed_users", "BRIDGE-ALLOWED-USERS", "BRIDGE_ALLOWED_USERS_FIL",
        "BRIDGE_RUNNER", "BRIDGE_ALLOWED_CHANEL_FILE", "BRIDGE_ALLOWED_MEMBERS", "BRIDGE_ALLOWED_IDS",
        "ALLOWED_USERS", "BRIDGE.ALLOWED_USERS", "SLACK_ALLOWED_CHANNELS", "BRIDGE_ALLOWED_USER_IDS",
    ],
)  # fmt: skip
def test_a_slip_in_the_environment_is_named_with_its_cure(tmp_path: Path, name: str) -> None:
    (line,) = slips_of({name: "U0SECRET"}, tmp_path / ".env")

    assert line.startswith(f"{name} isn't a setting: did you mean ")
    assert "U0SECRET" not in line


def test_names_of_other_programs_are_no_slips(tmp_path: Path) -> None:
    links = "SERVICE_HOST SERVICE_PORT PORT_3000_TCP PORT_3000_TCP_ADDR PORT_3000_TCP_PROTO RUNNERS_SERVICE_HOST"
    process = dict.fromkeys(
        [*(f"BRIDGE_{link}" for link in links.split()), "REDIS_URI", "HOST", "USERS", "ALLOWED_USERS"], "1"
    )
    (tmp_path / ".env").write_text("COMPOSE_PROJECT_NAME=a\nKEY='-----\nof several\nlines'\nREPLICAS=2\n")

    assert environment(process, tmp_path / ".env").keys() >= process.keys()


@each(
    ("place", "name", "value"),
    product(
        ["process", "file of its own", "file"],
        ["BRIDGE_ALLOWED_CHANNELS", "BRIDGE_ALLOWED_USERS", "BRIDGE_RUNNERS"],
        ["", " ", ",", " , ,", "''", '""', "# everyone"],
    ),
)
def test_a_list_without_an_id_never_allows_everyone(tmp_path: Path, place: str, name: str, value: str) -> None:
    file, process = tmp_path / ".env", dict[str, str]()
    match place:
        case "process":
            process[name] = value
        case "file":
            file.write_text(f"{name}= {value}\n")
        case _:
            process[f"{name}_FILE"] = ""

    (line,) = problems_of({**NEEDED, **environment(process, file)})

    assert line.startswith((f"{name} lists no ID: use ", f"{name} has an invalid entry (number 1): use "))


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
    file.write_text("xoxb-1-made-up\n")
    settings = load({**without("SLACK_BOT_TOKEN"), "SLACK_BOT_TOKEN_FILE": str(file)})
    assert settings.slack_bot_token.get_secret_value() == "xoxb-1-made-up"

    if content is None:
        file.unlink()
    else:
        file.write_text(content)

    assert settings.bot_token_now() == now
    assert load(NEEDED).bot_token_now() == "xoxb-1-made-up"
