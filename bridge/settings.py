"""The settings: what the environment says, checked as a whole before anything starts.

`load` takes the environment as an argument and reports every problem at once, each with its cure. It never
shows a value, not even one that is no secret: a token pasted into the wrong variable would be one.

The descriptions of the fields are the documentation: ``python -m bridge.settings`` prints them as
``.env.example``, and a test holds the file to it. Only `bridge.cli` and `bridge.app` know this module; every
other part receives values.
"""

from __future__ import annotations

import difflib
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from dotenv import dotenv_values
from pydantic import Field, PrivateAttr, SecretStr, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bridge import shapes
from bridge.errors import ConfigurationError


def _setting(variable: str, *, description: str, default: Any = ..., example: str = "") -> Any:
    """Describe a field. *default* is text, as it would stand in the environment; ``...``: the setting is needed."""
    return Field(default, alias=variable, description=description, examples=[example] if example else None)


class Settings(BaseSettings):
    """Everything that can be configured. An attribute's variable is its alias."""

    model_config = SettingsConfigDict(frozen=True, hide_input_in_errors=True, validate_default=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is pydantic-settings'
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take only what `load` hands over.

        The sources that the library brings read the process's environment by themselves, know no ``NAME_FILE``,
        and cannot say which of two places a value came from.
        """
        return (init_settings,)

    _bot_token_file: Path | None = PrivateAttr(default=None)

    def bot_token_now(self) -> str:
        """Read the bot token again, where a file has it; what can't be read there is no change."""
        value = self.slack_bot_token
        if self._bot_token_file is not None:
            with suppress(OSError, ValidationError, UnicodeDecodeError):
                field = type(self).model_fields["slack_bot_token"]
                shape: Any = Annotated[field.annotation, *field.metadata]
                found = self._bot_token_file.read_text(encoding="utf-8").strip()
                value = TypeAdapter(shape).validate_python(found)
        return value.get_secret_value()

    slack_bot_token: Annotated[SecretStr, shapes.token("xoxb-", "the bot token")] = _setting(
        "SLACK_BOT_TOKEN",
        description="The bot's token, xoxb-…: your Slack app's page, *OAuth & Permissions*. From a file "
        "(SLACK_BOT_TOKEN_FILE), a new one is used without a restart once Slack refuses the old one.",
    )
    slack_signing_secret: Annotated[SecretStr | None, shapes.secret("the signing secret")] = _setting(
        "SLACK_SIGNING_SECRET",
        default=None,
        description="Proves that a request comes from Slack: your Slack app's page, *Basic Information*. Needed, "
        "except in Socket Mode.",
    )
    slack_app_token: Annotated[SecretStr | None, shapes.token("xapp-", "the app-level token")] = _setting(
        "SLACK_APP_TOKEN",
        default=None,
        example="xapp-1-A0123456789",
        description="An app-level token, xapp-…, with the scope connections:write: *Basic Information*. When it is "
        "set, the bridge uses Socket Mode: it calls Slack, and Slack need not reach it.",
    )
    slack_api_url: Annotated[str, shapes.web_url(ends_with_slash=True)] = _setting(
        "SLACK_API_URL",
        default="https://slack.com/api/",
        description="Where Slack's Web API is; another address only for GovSlack or a test.",
    )
    project_base_url: Annotated[str, shapes.web_url()] = _setting(
        "PROJECT_BASE_URL",
        description="The address of the project service (*baseUrl*), with or without a path.",
    )
    project_api_key: Annotated[SecretStr, shapes.secret("the project's key")] = _setting(
        "PROJECT_API_KEY",
        description="The key of the project (*apiKey*).",
    )
    redis_url: Annotated[SecretStr | None, shapes.redis_url()] = _setting(
        "REDIS_URL",
        default=None,
        example="redis://localhost:6379/0",
        description="Where Redis (6.2 or later) or Valkey is: redis://user:password@host:6379/0, rediss:// (TLS), "
        "unix:///path, redis+sentinel://host:26379,host:26379/master/0, or redis+cluster://host:6379,host:6379 "
        "(rediss+… with TLS). Needed, except with `bridge serve --embedded-redis`. It should write an append-only "
        "file, sync it with every write (appendfsync always) and never evict (noeviction).",
    )
    namespace: Annotated[str, shapes.matching(r"[A-Za-z0-9_.-]{1,64}", "letters, digits, dots, dashes")] = _setting(
        "BRIDGE_NAMESPACE",
        default="bridge",
        description="Every key in Redis begins with it. Two bridges on one Redis need two.",
    )
    host: Annotated[str, shapes.matching(r"[^\s/]+", "a host name or an address")] = _setting(
        "BRIDGE_HOST",
        default="0.0.0.0",  # noqa: S104 - it is a server, reached through a container's or a balancer's address
        description="The address to listen on.",
    )
    port: Annotated[int, shapes.whole(0, 65535)] = _setting(
        "BRIDGE_PORT",
        default="3000",
        description="The port to listen on; 0 takes a free one.",
    )
    command_prefix: Annotated[str, shapes.matching(r"[a-z0-9_-]{0,20}", "at most 20 small letters, digits, - or _")] = (
        _setting(
            "BRIDGE_COMMAND_PREFIX",
            default="",
            example="acme-",
            description="Put before each slash command's name, for a workspace with two bridges: /acme-workflows.",
        )
    )
    default_agent: str | None = _setting(
        "BRIDGE_DEFAULT_AGENT",
        default=None,
        example="Support",
        description="The id or name of the agent that answers where nothing else chooses one.",
    )
    thread_replies: Annotated[Literal["all", "mentions"], shapes.one_of("all", "mentions")] = _setting(
        "BRIDGE_THREAD_REPLIES",
        default="all",
        description="Which replies in a thread with an agent go to it: all, or only those with mentions of the bot.",
    )
    context: Annotated[Literal["on", "off"], shapes.one_of("on", "off")] = _setting(
        "BRIDGE_CONTEXT",
        default="on",
        description="Whether an agent that is called into a thread gets what was said there before, as a quotation "
        "(the first message and the newest 20): on or off. It needs the scopes channels:history and groups:history.",
    )
    session_lifetime: Annotated[timedelta, shapes.duration("d", upto=timedelta(days=3650))] = _setting(
        "BRIDGE_SESSION_DAYS",
        default="90",
        description="How many days an idle thread keeps its session; each turn renews it.",
    )
    chat_timeout: Annotated[timedelta, shapes.duration("s", upto=timedelta(days=1))] = _setting(
        "BRIDGE_CHAT_TIMEOUT",
        default="120",
        description="How many seconds an agent may take to answer.",
    )
    run_timeout: Annotated[timedelta, shapes.duration("s", upto=timedelta(days=1))] = _setting(
        "BRIDGE_RUN_TIMEOUT",
        default="900",
        description="How many seconds a workflow may take to run.",
    )
    max_turns: Annotated[int, shapes.whole(1, 100_000)] = _setting(
        "BRIDGE_MAX_TURNS",
        default="1000",
        description="How many turns one process has in flight at most; the others wait in Redis.",
    )
    max_age: Annotated[timedelta, shapes.duration("s", upto=timedelta(days=365))] = _setting(
        "BRIDGE_MAX_AGE",
        default="24h",
        description="A message that waited for longer is offered with a button instead of being sent: 24h, 90m, 3600.",
    )
    drain_timeout: Annotated[timedelta, shapes.duration("s", upto=timedelta(hours=1), may_be_zero=True)] = _setting(
        "BRIDGE_DRAIN_SECONDS",
        default="25",
        description="How many seconds what is in flight may take to finish after SIGTERM.",
    )
    data_dir: Annotated[Path, shapes.folder()] = _setting(
        "BRIDGE_DATA_DIR",
        default="~/.local/share/bridge",
        description="Where the embedded Redis keeps its data; by default the platform's folder for that.",
    )
    allowed_channels: Annotated[frozenset[str], shapes.ids("CGD", "a channel id (C…)")] = _setting(
        "BRIDGE_ALLOWED_CHANNELS",
        default="",
        example="C0123456789,C0ABCDEFGHI",
        description="The channels in which the bridge answers, separated by commas; empty: all.",
    )
    allowed_users: Annotated[frozenset[str], shapes.ids("UW", "a user id (U… or W…)")] = _setting(
        "BRIDGE_ALLOWED_USERS",
        default="",
        example="U0123456789,U0ABCDEFGHI",
        description="The people whom it answers, separated by commas; empty: everyone of the home workspace.",
    )
    runners: Annotated[frozenset[str], shapes.ids("UWS", "a user id (U… or W…) or a user group id (S…)")] = _setting(
        "BRIDGE_RUNNERS",
        default="",
        example="U0123456789,S0123456789",
        description="Who may run workflows, keep reports and choose a channel's agent: people and groups, separated "
        "by commas; empty: every member, no guest.",
    )
    thread_turns: Annotated[int, shapes.whole(0, 1_000_000)] = _setting(
        "BRIDGE_THREAD_TURNS_PER_MINUTE",
        default="60",
        description="How many messages one thread may send to its agent in a minute; then it pauses, with a notice. "
        "Against loops; 0: no limit.",
    )
    user_turns: Annotated[int, shapes.whole(0, 1_000_000)] = _setting(
        "BRIDGE_USER_TURNS_PER_MINUTE",
        default="0",
        description="How many messages one person may send to agents in a minute; 0: no limit.",
    )
    user_runs: Annotated[int, shapes.whole(0, 1_000_000)] = _setting(
        "BRIDGE_USER_RUNS_PER_HOUR",
        default="0",
        description="How many workflow runs one person may start in an hour; 0: no limit.",
    )
    audit_lifetime: Annotated[timedelta, shapes.duration("d", upto=timedelta(days=3650), may_be_zero=True)] = _setting(
        "BRIDGE_AUDIT_DAYS",
        default="90",
        description="How many days `bridge audit` knows who did what (no texts, at most 200,000 entries); 0: never.",
    )
    log_format: Annotated[Literal["console", "json"], shapes.one_of("console", "json")] = _setting(
        "BRIDGE_LOG_FORMAT",
        default="console",
        description="How the log is written: console (for people) or json (one object a line).",
    )
    log_level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"], shapes.one_of("DEBUG", "INFO", "WARNING", "ERROR")
    ] = Field(
        alias="BRIDGE_LOG_LEVEL",
        default="INFO",
        description="The least severe lines that are written: DEBUG, INFO, WARNING or ERROR.",
    )


VARIABLES = tuple(str(field.alias) for field in Settings.model_fields.values())
_OPEN_IN_THE_EXAMPLE = frozenset({"SLACK_SIGNING_SECRET"})  # needed by most, although not by all


def load(environ: Mapping[str, str], *, embedded_redis: bool = False) -> Settings:
    """Read the settings out of *environ*; with *embedded_redis* there may be no REDIS_URL.

    Raises `ConfigurationError` with all problems there are.
    """
    given, problems = _given(environ)
    if not given.keys() & {"SLACK_SIGNING_SECRET", "SLACK_APP_TOKEN"}:
        problems.setdefault(
            "SLACK_SIGNING_SECRET", "is missing: set it, or set SLACK_APP_TOKEN for Socket Mode, which needs none"
        )
    if "REDIS_URL" not in given and not embedded_redis:
        problems.setdefault("REDIS_URL", "is missing: set it, or start with --embedded-redis (one machine only)")
    given.setdefault("BRIDGE_DATA_DIR", _data_folder(environ, sys.platform))
    try:
        settings = Settings(**given)  # type: ignore[arg-type]  # text, which the fields' validators read
    except ValidationError as exc:
        # A problem of the file comes first: the variable is missing only because the file could not be read.
        problems = {**_explained(exc), **problems}
    else:
        file = environ.get("SLACK_BOT_TOKEN_FILE", "").strip()
        settings._bot_token_file = Path(file) if file else None  # noqa: SLF001 - the class and its reader are one
    if problems:
        order = {name: place for place, name in enumerate(VARIABLES)}
        names = sorted(problems, key=lambda name: order.get(name, len(order)))
        raise ConfigurationError([f"{name} {problems[name]}" for name in names]) from None
    return settings


def well_formed(environ: Mapping[str, str]) -> dict[str, Any]:
    """Read what can be read where `load` finds problems: by variable, the values of the settings that have none."""
    given, problems = _given(environ)
    given.setdefault("BRIDGE_DATA_DIR", _data_folder(environ, sys.platform))
    values: dict[str, Any] = {}
    for name, field in ((str(field.alias), field) for field in Settings.model_fields.values()):
        if name in problems or (field.is_required() and name not in given):
            continue
        shape: Any = Annotated[field.annotation, name, *field.metadata]
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


def _data_folder(environ: Mapping[str, str], platform: str) -> str:
    """Name the platform's folder for a program's own data: https://specifications.freedesktop.org/basedir-spec/."""
    if platform == "darwin":
        return "~/Library/Application Support/bridge"
    if platform == "win32":
        return f"{environ.get('LOCALAPPDATA', '~')}/bridge"
    return f"{environ.get('XDG_DATA_HOME') or '~/.local/share'}/bridge"


def _given(environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Collect the values that are set, themselves or by a file, and the problems of the files. Empty is not set."""
    given: dict[str, str] = {}
    problems: dict[str, str] = {}
    for name in VARIABLES:
        value, file = environ.get(name, "").strip(), environ.get(f"{name}_FILE", "").strip()
        if value and file:
            problems[name] = f"and {name}_FILE are both set: remove one of them"
        elif file:
            try:
                value = Path(file).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as exc:
                why = exc.strerror if isinstance(exc, OSError) else "not text"
                problems[name] = f"cannot be read from the file that {name}_FILE names ({why}): mend {name}_FILE"
            else:
                if not value:
                    problems[name] = f"is empty in the file that {name}_FILE names: put the value there"
        if value:
            given[name] = value
    return given, problems


def _explained(exc: ValidationError) -> dict[str, str]:
    return {str(error["loc"][0]): _sentence(error) for error in exc.errors(include_url=False, include_input=False)}


def _sentence(error: ErrorDetails) -> str:
    if error["type"] == "missing":
        field = next(field for field in Settings.model_fields.values() if field.alias == error["loc"][0])
        return f"is missing: set it. {field.description}"
    return str(error["ctx"]["error"])  # a ValueError of `bridge.shapes`, whose words are ours


def env_example() -> str:
    """Write ``.env.example``: each setting with its explanation, the needed ones open and the others commented out."""
    return "\n".join(_example_lines())


def _example_lines() -> Iterator[str]:
    yield "# The settings of the bridge. Copy this file to .env and fill in the ones that have no # before them."
    yield "# The environment wins over the file. NAME_FILE, the path of a file with the value, does for any NAME."
    yield "# Made from bridge/settings.py by `make env-example`."
    for field in Settings.model_fields.values():
        yield ""
        yield from textwrap.wrap(str(field.description), 116, initial_indent="# ", subsequent_indent="# ")
        shown: Any = (field.examples or [field.default])[0]
        is_open = field.is_required() or field.alias in _OPEN_IN_THE_EXAMPLE
        yield f"{field.alias}=" if is_open else f"#{field.alias}={shown}"
    yield ""
    yield "# Only for docker-compose.yml, which makes REDIS_URL of it: a password for its Redis, of letters and digits."
    yield "#REDIS_PASSWORD="
    yield ""


if __name__ == "__main__":
    sys.stdout.write(env_example())
