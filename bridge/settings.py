"""The settings: what the environment says, checked as a whole before anything starts.

`load` takes the environment as an argument and reports every problem at once, each with its cure. It never
shows a value, not even one that is no secret: a token pasted into the wrong variable would be one.

The docstrings of the fields are the documentation: ``python -m bridge.settings`` prints them as
``.env.example``, and a test holds the file to it. Only `bridge.cli` and `bridge.app` know this module; every
other part receives values.
"""

from __future__ import annotations

import difflib
import sys
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from dotenv import dotenv_values
from pydantic import Field, PrivateAttr, SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from bridge.errors import ConfigurationError
from bridge.setting_types import (
    duration,
    folder,
    ids,
    matching,
    one_of,
    redis_address,
    secret,
    text,
    token,
    web_url,
    whole,
)

_Limit = Annotated[int, whole(0, 1_000_000)]
_Timeout = Annotated[timedelta, duration("s", upto=timedelta(days=1))]


def _setting(variable: str, default: Any = ..., *, example: str = "") -> Any:
    """Name a field's variable. *default* is text, as it would stand in the environment; without one, it is needed."""
    return Field(default, alias=variable, examples=[example] if example else None)


class Settings(BaseSettings):
    """Everything that can be configured. An attribute's variable is its alias."""

    model_config = SettingsConfigDict(
        case_sensitive=True,
        enable_decoding=False,  # a list is separated by commas, no JSON
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,  # 27 ms of each start, and the explanations stand where they are looked for
        validate_default=True,
    )

    slack_bot_token: Annotated[SecretStr, token("xoxb-", "the bot token")] = _setting("SLACK_BOT_TOKEN")
    """The bot's token, xoxb-…: your Slack app's page, *OAuth & Permissions*. From a file (SLACK_BOT_TOKEN_FILE), a new
    one is used without a restart once Slack refuses the old one."""
    slack_signing_secret: Annotated[SecretStr | None, secret("the signing secret")] = _setting(
        "SLACK_SIGNING_SECRET", None
    )
    """Proves that a request comes from Slack: your Slack app's page, *Basic Information*. Needed, except in Socket
    Mode."""
    slack_app_token: Annotated[SecretStr | None, token("xapp-", "the app-level token")] = _setting(
        "SLACK_APP_TOKEN", None, example="xapp-1-A0123456789"
    )
    """An app-level token, xapp-…, with the scope connections:write: *Basic Information*. When it is set, the bridge
    uses Socket Mode: it calls Slack, and Slack need not reach it."""
    slack_config_token: Annotated[SecretStr | None, token("xoxe.xoxp-", "an app configuration token")] = _setting(
        "SLACK_CONFIG_TOKEN", None, example="xoxe.xoxp-1-ABC"
    )
    """For `bridge check` alone, and for twelve hours: an app configuration token, with which it compares the installed
    app with `bridge manifest`. On <https://api.slack.com/apps>: *Your App Configuration Tokens*."""
    slack_api_url: Annotated[str, web_url(end="/")] = _setting("SLACK_API_URL", "https://slack.com/api/")
    """Where Slack's Web API is; another address only for GovSlack or a test."""
    project_base_url: Annotated[str, web_url()] = _setting("PROJECT_BASE_URL")
    """The address of the project service (*baseUrl*), with or without a path."""
    project_api_key: Annotated[SecretStr, secret("the project's key")] = _setting("PROJECT_API_KEY")
    """The key of the project (*apiKey*)."""
    redis_url: Annotated[SecretStr | None, redis_address()] = _setting(
        "REDIS_URL", None, example="redis://localhost:6379/0"
    )
    """Where Redis (6.2 or later) or Valkey is: redis://user:password@host:6379/0, rediss:// (TLS), unix:///path,
    redis+sentinel://host:26379,host:26379/master/0, or redis+cluster://host:6379,host:6379 (rediss+… with TLS). Needed,
    except with `bridge serve --embedded-redis`. It should write an append-only file, sync it with every write
    (appendfsync always) and never evict (noeviction)."""
    namespace: Annotated[str, matching("[A-Za-z0-9_.-]{1,64}", "letters, digits, dots, dashes")] = _setting(
        "BRIDGE_NAMESPACE", "bridge"
    )
    """Every key in Redis begins with it. Two bridges on one Redis need two."""
    host: Annotated[str, matching(r"[^\s/]+", "a host name or an address")] = _setting("BRIDGE_HOST", "0.0.0.0")  # noqa: S104 - it is a server
    """The address to listen on."""
    port: Annotated[int, whole(0, 65535)] = _setting("BRIDGE_PORT", "3000")
    """The port to listen on; 0 takes a free one."""
    command_prefix: Annotated[str, matching("[a-z0-9_-]{0,20}", "at most 20 small letters, digits, - or _")] = _setting(
        "BRIDGE_COMMAND_PREFIX", "", example="acme-"
    )
    """Put before each slash command's name, for a workspace with two bridges: /acme-workflows."""
    default_agent: Annotated[str | None, text()] = _setting("BRIDGE_DEFAULT_AGENT", None, example="Support")
    """The id or name of the agent that answers where nothing else chooses one."""
    thread_replies: Annotated[Literal["all", "mentions"], one_of("all", "mentions")] = _setting(
        "BRIDGE_THREAD_REPLIES", "all"
    )
    """Which replies in a thread with an agent go to it: all, or only those with mentions of the bot."""
    context: Annotated[Literal["on", "off"], one_of("on", "off")] = _setting("BRIDGE_CONTEXT", "on")
    """Whether an agent that is called into a thread gets what was said there before, as a quotation (the first message
    and the newest 20): on or off. It needs the scopes channels:history and groups:history (mpim:history in
    group direct messages)."""
    files: Annotated[Literal["text", "names", "off"], one_of("text", "names", "off")] = _setting("BRIDGE_FILES", "text")
    """What of the files in a message goes to its agent: their text (of text files, mails and documents, and transcripts
    of clips), only their names, or nothing (off). Their text needs the scope files:read, PDFs the extra "documents"."""
    session_lifetime: Annotated[timedelta, duration("d", upto=timedelta(days=3650))] = _setting(
        "BRIDGE_SESSION_DAYS", "90"
    )
    """How many days an idle thread keeps its session; each turn renews it."""
    chat_timeout: _Timeout = _setting("BRIDGE_CHAT_TIMEOUT", "120")
    """How many seconds an agent may take to answer."""
    run_timeout: _Timeout = _setting("BRIDGE_RUN_TIMEOUT", "900")
    """How many seconds a workflow may take to run."""
    max_turns: Annotated[int, whole(1, 100_000)] = _setting("BRIDGE_MAX_TURNS", "1000")
    """How many turns one process has in flight at most; the others wait in Redis."""
    max_age: Annotated[timedelta, duration("s", upto=timedelta(days=365))] = _setting("BRIDGE_MAX_AGE", "24h")
    """A message that waited for longer is offered with a button instead of being sent: 24h, 90m, 3600."""
    catch_up: Annotated[Literal["on", "off"], one_of("on", "off")] = _setting("BRIDGE_CATCH_UP", "on")
    """Whether the bridge reads in Slack's history what was said while it was away for more than a minute, up to seven
    days: on or off. `bridge catch-up --since 2h` asks for it in any case."""
    drain_timeout: Annotated[timedelta, duration("s", upto=timedelta(hours=1), may_be_zero=True)] = _setting(
        "BRIDGE_DRAIN_SECONDS", "25"
    )
    """How many seconds what is in flight may take to finish after SIGTERM."""
    data_dir: Annotated[Path, folder()] = _setting("BRIDGE_DATA_DIR", "~/.local/share/bridge")
    """Where the embedded Redis keeps its data; by default the platform's folder for that."""
    allowed_channels: Annotated[frozenset[str], ids("CGD", "a channel id (C…)")] = _setting(
        "BRIDGE_ALLOWED_CHANNELS", "", example="C0123456789,C0ABCDEFGHI"
    )
    """The channels in which the bridge answers, separated by commas; empty: all."""
    allowed_users: Annotated[frozenset[str], ids("UW", "a user id (U… or W…)")] = _setting(
        "BRIDGE_ALLOWED_USERS", "", example="U0123456789,U0ABCDEFGHI"
    )
    """The people whom it answers, separated by commas; empty: everyone of the home workspace."""
    runners: Annotated[frozenset[str], ids("UWS", "a user id (U… or W…) or a user group id (S…)")] = _setting(
        "BRIDGE_RUNNERS", "", example="U0123456789,S0123456789"
    )
    """Who may run workflows, keep reports and set who answers in a channel: people and groups, separated by commas;
    empty: every member, no guest."""
    thread_turns: _Limit = _setting("BRIDGE_THREAD_TURNS_PER_MINUTE", "60")
    """How many messages one thread may send to its agent in a minute; then it pauses, with a notice. Against loops; 0:
    no limit."""
    app_turns: Annotated[int, whole(1, 1_000_000)] = _setting("BRIDGE_APP_TURNS_PER_MINUTE", "10")
    """How many messages of one app may start an agent or a workflow in one channel in a minute, where people have set
    that they do. Against loops; what comes until the minute is over starts nothing."""
    user_turns: _Limit = _setting("BRIDGE_USER_TURNS_PER_MINUTE", "0")
    """How many messages one person may send to agents in a minute; 0: no limit."""
    user_runs: _Limit = _setting("BRIDGE_USER_RUNS_PER_HOUR", "0")
    """How many workflow runs one person may start in an hour; 0: no limit."""
    audit_lifetime: Annotated[timedelta, duration("d", upto=timedelta(days=3650), may_be_zero=True)] = _setting(
        "BRIDGE_AUDIT_DAYS", "90"
    )
    """How many days `bridge audit` knows who did what (no texts, at most 200,000 entries); 0: never."""
    log_format: Annotated[Literal["console", "json"], one_of("console", "json")] = _setting(
        "BRIDGE_LOG_FORMAT", "console"
    )
    """How the log is written: console (for people) or json (one object a line)."""
    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], one_of("DEBUG", "INFO", "WARNING", "ERROR")] = (
        _setting("BRIDGE_LOG_LEVEL", "INFO")
    )
    """The least severe lines that are written: DEBUG, INFO, WARNING or ERROR."""

    _bot_token_file: str = PrivateAttr(default="")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is pydantic-settings'
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what `load` read with `Variables`: by itself the library would read the process's environment."""
        return (init_settings,)

    def bot_token_now(self) -> str:
        """Read the bot token again, where a file has it; what can't be read there is no change."""
        found = well_formed({"SLACK_BOT_TOKEN_FILE": self._bot_token_file})
        token: SecretStr = found.get("SLACK_BOT_TOKEN", self.slack_bot_token)
        return token.get_secret_value()


class Variables(EnvSettingsSource):
    """A source of the settings: the variables of *environ*, each itself or, as ``NAME_FILE``, in a file.

    Empty is not set. Where there is a problem with a file, it stands in the value's place, as a ValueError.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(Settings)
        self.case_sensitive = True  # again: the library gives it up on Windows, whose own environment has no case
        self.env_vars = {name: value.strip() for name, value in environ.items() if value.strip()}

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Give a field's text, its variable, and whether it is JSON."""
        value, name, is_json = super().get_field_value(field, field_name)
        file = self.env_vars.get(f"{name}_FILE")
        if value and file:
            value = ValueError(f"and {name}_FILE are both set: remove one of them")
        elif file:
            try:
                value = Path(file).read_text(encoding="utf-8").strip() or ValueError(
                    f"is empty in the file that {name}_FILE names: put the value there"
                )
            except (OSError, UnicodeDecodeError) as exc:
                why = exc.strerror if isinstance(exc, OSError) else "not text"
                value = ValueError(f"cannot be read from the file that {name}_FILE names ({why}): mend {name}_FILE")
        return value, name, is_json


VARIABLES = tuple(str(field.alias) for field in Settings.model_fields.values())


def load(environ: Mapping[str, str], *, embedded_redis: bool = False) -> Settings:
    """Read the settings out of *environ*; with *embedded_redis* there may be no REDIS_URL.

    Raises `ConfigurationError` with all problems there are.
    """
    given = _read(environ)
    if not given.keys() & {"SLACK_SIGNING_SECRET", "SLACK_APP_TOKEN"}:
        given["SLACK_SIGNING_SECRET"] = ValueError(
            "is missing: set it, or set SLACK_APP_TOKEN for Socket Mode, which needs none"
        )
    if "REDIS_URL" not in given and not embedded_redis:
        given["REDIS_URL"] = ValueError("is missing: set it, or start with --embedded-redis (one machine only)")
    try:
        settings = Settings(**given)
    except ValidationError as exc:
        problems = []
        for error in exc.errors(include_url=False, include_input=False):
            name = error["loc"][0]
            field = next(field for field in Settings.model_fields.values() if field.alias == name)
            missing = f"is missing: set it. {' '.join(str(field.description).split())}"
            # What is not missing is a ValueError of ours or of `bridge.setting_types`, whose words are ours.
            problems.append(f"{name} {missing if error['type'] == 'missing' else error['ctx']['error']}")
        raise ConfigurationError(problems) from None
    settings._bot_token_file = environ.get("SLACK_BOT_TOKEN_FILE", "")  # noqa: SLF001 - the class and its reader are one
    return settings


def well_formed(environ: Mapping[str, str]) -> dict[str, Any]:
    """Read what can be read where `load` finds problems: by variable, the values of the settings that have none."""
    given, values = _read(environ), {}
    for name, field in ((str(field.alias), field) for field in Settings.model_fields.values()):
        shape: Any = Annotated[field.annotation, *field.metadata]
        if name in given or not field.is_required():
            with suppress(ValidationError):
                values[name] = TypeAdapter(shape).validate_python(given.get(name, field.default))
    return values


def environment(process: Mapping[str, str], env_file: Path) -> dict[str, str]:
    """Join *env_file*, where there is one, with the *process*'s environment, which wins; empty is not set.

    A setting in the process also hides its ``_FILE`` twin in the file, and the other way round.
    """
    try:
        # No interpolation: a password may hold "${".
        pairs = dotenv_values(env_file, interpolate=False) if env_file.is_file() else {}
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError([f"{env_file} cannot be read ({type(exc).__name__}): mend or remove it"]) from None
    there = {name: value for name, value in process.items() if value.strip()}
    hidden = {*there, *(f"{name}_FILE" for name in there), *(name.removesuffix("_FILE") for name in there)}
    return {**{name: value for name, value in pairs.items() if value and name not in hidden}, **there}


def unknown_names(environ: Mapping[str, str]) -> list[str]:
    """Say, in a line each, which ``BRIDGE_…`` variables mean nothing, and what was probably meant."""
    known = {*VARIABLES, *(f"{name}_FILE" for name in VARIABLES)}
    lines = []
    for name in sorted(name for name in environ if name.startswith("BRIDGE_") and name not in known):
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        lines.append(f"{name} is not a setting" + (f": did you mean {nearest[0]}?" if nearest else ""))
    return lines


def _read(environ: Mapping[str, str]) -> dict[str, Any]:
    """Give what is set, by variable. The data folder follows the platform.

    https://specifications.freedesktop.org/basedir-spec/
    """
    match sys.platform:
        case "darwin":
            folder = "~/Library/Application Support/bridge"
        case "win32":
            folder = f"{environ.get('LOCALAPPDATA', '~')}/bridge"
        case _:
            folder = f"{environ.get('XDG_DATA_HOME') or '~/.local/share'}/bridge"
    return {"BRIDGE_DATA_DIR": folder, **Variables(environ)()}


def env_example() -> str:
    """Write ``.env.example``: each setting with its explanation, the needed ones open and the others commented out."""
    lines = [
        "# The settings of the bridge. Copy this file to .env and fill in the ones that have no # before them.",
        "# The environment wins over the file. NAME_FILE, the path of a file with the value, does for any NAME.",
        "# Made from bridge/settings.py by `make env-example`.",
    ]
    for field in Settings.model_fields.values():
        lines += ["", *textwrap.wrap(str(field.description), 116, initial_indent="# ", subsequent_indent="# ")]
        # The signing secret is needed by most, although not by all.
        is_open = field.is_required() or field.alias == "SLACK_SIGNING_SECRET"
        lines.append(f"{field.alias}=" if is_open else f"#{field.alias}={(field.examples or [field.default])[0]}")
    lines += [
        "",
        "# Only for docker-compose.yml, which makes REDIS_URL of it: a password for its Redis, of letters and digits.",
        "#REDIS_PASSWORD=",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(env_example())
