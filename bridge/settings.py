"""The settings, checked as a whole before anything starts.

`load` reports all problems at once, each with its fix. It never shows a value, as any may be a token pasted into the
wrong variable. The fields' docstrings are the documentation: ``python -m bridge.settings``
prints them as ``.env.example``. Only `bridge.cli` and `bridge.app` import this module; others receive values.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from dotenv.parser import Binding, parse_stream
from pydantic import Field, PrivateAttr, SecretStr, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from bridge.errors import ConfigurationError
from bridge.names.nearness import nearest
from bridge.setting_types import (
    EMBEDDED,
    duration,
    folder,
    ids,
    link_template,
    matching,
    one_of,
    otlp_endpoint,
    project_url,
    redis_address,
    secret,
    text,
    token,
    unquoted,
    web_url,
    whole,
)

_PREFIX = "BRIDGE_"
_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?(?:BRIDGE|SLACK|PROJECT|REDIS)_\w+\s*=", re.IGNORECASE)

# https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables
_OF_SERVICE = re.compile(r"_SERVICE_(?:HOST|PORT)|_PORT_[0-9]{1,5}_(?:TCP|UDP|SCTP)")
_ADDRESS_OF_SERVICE = re.compile(r"(?:tcp|udp|sctp)://\S+")
_ID = re.compile(r"\b[CDGUSW](?=[A-Z]{0,20}[0-9])[0-9A-Z]{2,20}\b")  # of a person, user group or channel

_NAMESPACE = re.compile("[A-Za-z0-9_.-]{1,64}")
_HOST = re.compile(r"[^\s/]+", re.ASCII)
_CHANNEL = re.compile(r"[CGD][A-Z0-9]{2,20}")
_COMMAND_PREFIX = re.compile("[a-z0-9_-]{0,20}")
_Limit = Annotated[int, whole(0, 1_000_000, 60)]
_Timeout = Annotated[timedelta, duration("s", upto=timedelta(days=1))]


def _setting(variable: str, default: Any = ..., *, example: str = "") -> Any:
    """Return a field for *variable*. Without a *default*, in general text as in the environment, it's required."""
    return Field(default, alias=variable, examples=[example] if example else None)


TO_POST: Final = timedelta(seconds=10)
"""How long an answer may take to be posted once it's there, while the process drains."""


class Settings(BaseSettings):
    """All settings; an attribute's alias is its variable."""

    model_config = SettingsConfigDict(
        case_sensitive=True,
        enable_decoding=False,  # lists are separated by commas, not JSON
        frozen=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,  # 27 ms of each start
    )

    slack_bot_token: Annotated[SecretStr, token("xoxb-", "the bot token")] = _setting("SLACK_BOT_TOKEN")
    """The bot token (xoxb-…), from your Slack app's page under *OAuth & Permissions*. If it's in a file
    (SLACK_BOT_TOKEN_FILE), the bridge reads a new one from there, without a restart, once Slack rejects the old one."""
    slack_app_token: Annotated[SecretStr | None, token("xapp-", "the app-level token")] = _setting(
        "SLACK_APP_TOKEN", None, example="xapp-1-A0123456789"
    )
    """An app-level token (xapp-…) with the scope connections:write, from *Basic Information*. Required for Socket Mode;
    leave it empty to use HTTP."""
    slack_signing_secret: Annotated[SecretStr | None, secret("the signing secret")] = _setting(
        "SLACK_SIGNING_SECRET", None, example="0123456789abcdef0123456789abcdef"
    )
    """The signing secret, from your Slack app's page under *Basic Information*. Required for HTTP; Socket Mode doesn't
    use it."""
    slack_api_url: Annotated[str, web_url("https://slack.com/api/", end="/")] = _setting(
        "SLACK_API_URL", "https://slack.com/api/"
    )
    """The address of Slack's Web API. Change it only for GovSlack or for tests."""
    project_base_url: Annotated[str, project_url()] = _setting("PROJECT_BASE_URL")
    """The project service's address (*baseUrl*), such as https://project.example.com."""
    project_api_key: Annotated[SecretStr, secret("the project's key")] = _setting("PROJECT_API_KEY")
    """The project's API key (*apiKey*). If the service rejects it, messages wait, and the bridge reads it again."""
    config: Annotated[Path | None, folder()] = _setting("BRIDGE_CONFIG", None, example="bridge.toml")
    """A TOML file with more projects. Not set: bridge.toml beside .env, if it exists."""
    redis_url: Annotated[SecretStr, redis_address()] = _setting("REDIS_URL", example="redis://localhost:6379/0")
    """The address of Redis (6.2 or later) or Valkey: redis://user:password@host:6379/0, rediss:// (TLS),
    unix:///path, redis+sentinel://host:26379,host:26379/master/0, or redis+cluster://host:6379,host:6379 (rediss+…
    for TLS). Or `embedded`: the bridge then runs its own Redis (one machine only). In your own Redis, set appendonly
    yes, appendfsync always and maxmemory-policy noeviction."""
    namespace: Annotated[
        str, matching(_NAMESPACE, "up to 64 letters, digits, hyphens, underscores and dots, such as bridge")
    ] = _setting("BRIDGE_NAMESPACE", "bridge")
    """The prefix of every key in Redis. Replicas share it; other bridges on the same Redis need their own."""
    host: Annotated[str, matching(_HOST, "an IP address such as 0.0.0.0")] = _setting("BRIDGE_HOST", "0.0.0.0")  # noqa: S104 - it is a server
    """The address to listen on. In Socket Mode, the default is 127.0.0.1: Slack doesn't call the bridge."""
    port: Annotated[int, whole(0, 65535, 3000)] = _setting("BRIDGE_PORT", "3000")
    """The port to listen on; 0 picks a free one."""
    command_prefix: Annotated[str, matching(_COMMAND_PREFIX, "up to 20 of a-z, 0-9, - and _, such as acme-")] = (
        _setting("BRIDGE_COMMAND_PREFIX", "", example="acme-")
    )
    """A prefix for every slash command, for a workspace with several bridges: acme- makes /acme-workflows."""
    default_agent: Annotated[str | None, text()] = _setting("BRIDGE_DEFAULT_AGENT", None, example="Support")
    """The ID or name of the agent that answers if nothing else picks one. Projects of BRIDGE_CONFIG have their own."""
    thread_replies: Annotated[Literal["auto", "all", "mentions"], one_of("auto", "all", "mentions")] = _setting(
        "BRIDGE_THREAD_REPLIES", "auto"
    )
    """Which replies in a channel's thread go to its agent without a mention: those of the person it's talking with, as
    long as no one else has written since (`auto`), every reply (`all`), or none (`mentions`). Direct messages never
    need a mention."""
    context: Annotated[Literal["on", "off"], one_of("on", "off")] = _setting("BRIDGE_CONTEXT", "on")
    """Whether agents get context beyond the message itself, such as the earlier messages of a thread: on or off. Needs
    the scopes channels:history and groups:history (mpim:history in group direct messages)."""
    files: Annotated[Literal["text", "names", "off"], one_of("text", "names", "off")] = _setting("BRIDGE_FILES", "text")
    """What an agent gets from the files in a message: `text` (the text of text files, emails, documents and transcripts
    of clips), `names` (only their names) or `off` (nothing). `text` needs the scope files:read and, for PDFs, the pip
    extra "documents"."""
    session_lifetime: Annotated[timedelta, duration("d", upto=timedelta(days=3650))] = _setting(
        "BRIDGE_SESSION_DAYS", "90"
    )
    """How many days a thread's session is stored after its last message. Messages for which nobody picks an agent in
    that time, or resumes the thread after a stop, are discarded."""
    chat_timeout: _Timeout = _setting("BRIDGE_CHAT_TIMEOUT", "120")
    """How many seconds an agent may take to answer."""
    run_timeout: _Timeout = _setting("BRIDGE_RUN_TIMEOUT", "900")
    """How many seconds a workflow may take to run."""
    caller_headers: Annotated[Literal["false", "true"], one_of("false", "true")] = _setting(
        "BRIDGE_CALLER_HEADERS", "false"
    )
    """Whether the project service learns who asks: true or false. With true, each run and each message to an agent has
    headers with Slack's IDs of the person, the channel and the thread, and a key that's the same if it's repeated."""
    max_turns: Annotated[int, whole(1, 100_000, 1000)] = _setting("BRIDGE_MAX_TURNS", "1000")
    """How many messages and commands one process works on at once; the others wait in Redis."""
    max_age: Annotated[timedelta, duration("s", upto=timedelta(days=365))] = _setting("BRIDGE_MAX_AGE", "24h")
    """How long a message may wait: 24h, 90m, or a number of seconds. After that, a button offers to send it."""
    catch_up: Annotated[Literal["on", "off"], one_of("on", "off")] = _setting("BRIDGE_CATCH_UP", "on")
    """Whether the bridge reads missed messages in Slack's history: those it had to refuse, and after more than a minute
    of downtime, all of up to seven days. `on` or `off`; `bridge catch-up` works either way."""
    drain_timeout: Annotated[timedelta | None, duration("s", upto=timedelta(hours=1), may_be_zero=True)] = _setting(
        "BRIDGE_DRAIN_SECONDS", None, example="130"
    )
    """How many seconds running work may take to finish after SIGTERM. Not set: BRIDGE_CHAT_TIMEOUT and 10 s, so that
    every answer arrives. Whatever kills the process after a while has to wait longer than that."""
    data_dir: Annotated[Path, folder()] = _setting("BRIDGE_DATA_DIR", "~/.local/share/bridge")
    """The folder for the embedded Redis's data, the same for every process and command. On macOS, the default is
    ~/Library/Application Support/bridge."""
    allowed_channels: Annotated[
        frozenset[str], ids("CGD", "channel IDs separated by commas, such as C0ABCDEFGHI,C0JKLMNOPQR")
    ] = _setting("BRIDGE_ALLOWED_CHANNELS", frozenset(), example="C0123456789,C0ABCDEFGHI")
    """The IDs of the channels and direct messages (D…) where the bridge answers, separated by commas. Not set: all."""
    allowed_users: Annotated[
        frozenset[str], ids("UW", "member IDs separated by commas, such as U0ABCDEFGHI,U0JKLMNOPQR")
    ] = _setting("BRIDGE_ALLOWED_USERS", frozenset(), example="U0123456789,U0ABCDEFGHI")
    """The IDs of the people the bridge answers, separated by commas. Not set: everyone in its workspace."""
    runners: Annotated[
        frozenset[str], ids("UWS", "IDs of people and user groups separated by commas, such as U0ABCDEFGHI,S0ABCDEFGHI")
    ] = _setting("BRIDGE_RUNNERS", frozenset(), example="U0123456789,S0123456789")
    """The IDs of the people and user groups who may run workflows, schedule reports and change channel settings,
    separated by commas. Not set: all members, but no guests. (Without the scope users:read, guests may, too.)"""
    ops_channel: Annotated[str | None, matching(_CHANNEL, "a channel's ID, such as C0123456789")] = _setting(
        "BRIDGE_OPS_CHANNEL", None, example="C0123456789"
    )
    """The ID of the channel where incidents are posted for operators, such as a service that can't be reached. Invite
    the bot to it, then try it with `bridge check --post-test`."""
    run_url: Annotated[str | None, link_template("runId", "id")] = _setting(
        "BRIDGE_RUN_URL", None, example="https://project.example.com/workflows/{id}/runs/{runId}"
    )
    """The address of a run in the project's own pages, for a link on its card: {runId} is the run's ID, and {id} the
    workflow's."""
    workflow_url: Annotated[str | None, link_template("id")] = _setting(
        "BRIDGE_WORKFLOW_URL", None, example="https://project.example.com/workflows/{id}"
    )
    """The address of a workflow in the project's own pages."""
    agent_url: Annotated[str | None, link_template("id")] = _setting(
        "BRIDGE_AGENT_URL", None, example="https://project.example.com/agents/{id}"
    )
    """The address of an agent in the project's own pages."""
    thread_turns: _Limit = _setting("BRIDGE_THREAD_TURNS_PER_MINUTE", "60")
    """How many messages one thread may send to its agent per minute; any beyond that aren't sent, and a notice says so.
    0: no limit."""
    app_turns: Annotated[int, whole(1, 1_000_000, 10)] = _setting("BRIDGE_APP_TURNS_PER_MINUTE", "10")
    """How many posts by one app may start an agent or a workflow per minute in a channel whose settings allow it, and
    how many messages it may send with a person's own token; any beyond that are ignored, so that two bots can't answer
    each other endlessly. 1 or more."""
    user_turns: _Limit = _setting("BRIDGE_USER_TURNS_PER_MINUTE", "0")
    """How many messages one person may send to a project's agents per minute. 0: no limit."""
    user_runs: _Limit = _setting("BRIDGE_USER_RUNS_PER_HOUR", "0")
    """How many of a project's workflows one person may run per hour. 0: no limit."""
    audit_lifetime: Annotated[timedelta, duration("d", upto=timedelta(days=3650), may_be_zero=True)] = _setting(
        "BRIDGE_AUDIT_DAYS", "90"
    )
    """How many days `bridge audit` goes back (at most 200,000 entries, without message text). 0 turns it off."""
    log_format: Annotated[Literal["console", "json"], one_of("console", "json")] = _setting(
        "BRIDGE_LOG_FORMAT", "console"
    )
    """The log's format: console (for people) or json (one object per line)."""
    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR"], one_of("DEBUG", "INFO", "WARNING", "ERROR")] = (
        _setting("BRIDGE_LOG_LEVEL", "INFO")
    )
    """The lowest level that is logged: DEBUG, INFO, WARNING or ERROR."""

    otel_endpoint: Annotated[str | None, otlp_endpoint()] = _setting(
        "OTEL_EXPORTER_OTLP_ENDPOINT", None, example="http://localhost:4318"
    )
    """The address of an OpenTelemetry collector, which gets a trace of each message over HTTP. Needs the pip extra
    "otel". OpenTelemetry's other variables count, too, such as OTEL_SERVICE_NAME and OTEL_TRACES_SAMPLER."""

    _bot_token_file: str = PrivateAttr(default="")

    @property
    def drain(self) -> timedelta:
        """How long running work may take to finish after SIGTERM."""
        return self.chat_timeout + TO_POST if self.drain_timeout is None else self.drain_timeout

    def bot_token_now(self) -> str:
        """Return the bot token, read again if it's in a file; if that can't be read, return the last one."""
        values = well_formed({"SLACK_BOT_TOKEN_FILE": self._bot_token_file}) if self._bot_token_file else {}
        token: SecretStr = values.get("SLACK_BOT_TOKEN", self.slack_bot_token)
        return token.get_secret_value()


VARIABLES = tuple(str(field.alias) for field in Settings.model_fields.values())
_NAMES = frozenset({*VARIABLES, *(f"{name}_FILE" for name in VARIABLES)})
_ACCESS = frozenset(
    name
    for field in Settings.model_fields.values()
    if field.annotation == frozenset[str]
    for name in (str(field.alias), f"{field.alias}_FILE")
)
"""The variables of lists that restrict access. An empty one is an error: it mustn't look restricted and allow all."""


class Variables(EnvSettingsSource):
    """Reads the variables of *environ*, each directly or from the file that ``NAME_FILE`` names.

    An empty variable isn't set, except a list that restricts access. If a file can't be used, a ValueError takes the
    place of the value.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(Settings)
        self.case_sensitive = True  # the library turned it off on Windows
        self.env_vars = {
            name: value.strip()
            for name, value in environ.items()
            if (value.strip() or name in _ACCESS) and not _is_of_service(name, value)
        }

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return a field's text, its variable, and whether the text is JSON."""
        value, name, is_json = super().get_field_value(field, field_name)
        file = self.env_vars.get(f"{name}_FILE")
        if value and file:
            value = ValueError(f"and {name}_FILE are both set: remove one of them")
        elif file == "" and value is None:
            value = ""
        elif file:
            try:
                value = Path(unquoted(file)).read_text(encoding="utf-8-sig").strip() or ValueError(
                    f"is empty in its file: write the value to the file that {name}_FILE names"
                )
            except (OSError, ValueError) as exc:  # a path with a null character, too
                why = exc.strerror if isinstance(exc, OSError) else "not text"
                why = "its path is in quotation marks" if file[0] in "\"'" else why
                value = ValueError(f"can't be read from its file ({why}): set {name}_FILE to a readable file")
        return value, name, is_json


def _is_of_service(name: str, value: str) -> bool:
    """Whether Kubernetes sets the variable for a Service: one named ``bridge`` has BRIDGE_PORT=tcp://10.0.0.1:80."""
    is_port = name.endswith("_PORT") and _ADDRESS_OF_SERVICE.fullmatch(value.strip())
    return bool(is_port or _OF_SERVICE.search(name))


def load(environ: Mapping[str, str], slips: Sequence[str] = ()) -> Settings:
    """Read the settings from *environ*. Raises `ConfigurationError` with all problems, with *slips* (`environment`)."""
    values, problems = _validated(environ)
    if slips or problems:
        raise ConfigurationError([*slips, *problems])
    settings = Settings.model_construct(**values)
    settings._bot_token_file = environ.get("SLACK_BOT_TOKEN_FILE", "")  # noqa: SLF001 - the class and its reader are one
    return settings


_RELOADED = frozenset(
    {
        "PROJECT_BASE_URL",
        "PROJECT_API_KEY",
        "BRIDGE_CONFIG",
        "BRIDGE_DEFAULT_AGENT",
        "BRIDGE_RUN_URL",
        "BRIDGE_WORKFLOW_URL",
        "BRIDGE_AGENT_URL",
    }
)
"""The variables of the projects, which a running bridge reads again."""


def needs_restart(before: Settings, now: Settings) -> tuple[str, ...]:
    """Return the variables with new values that a running bridge doesn't read again, in the order of `Settings`."""
    taken = _RELOADED | ({"SLACK_BOT_TOKEN"} if before._bot_token_file else set())  # noqa: SLF001 - see `load`
    fields = [(name, str(field.alias)) for name, field in Settings.model_fields.items()]
    return tuple(alias for name, alias in fields if alias not in taken and getattr(before, name) != getattr(now, name))


def well_formed(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of the valid settings, by variable."""
    return _validated(environ)[0]


def _validated(environ: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return the values of the valid settings, by variable, and a line for each of the others."""
    # https://specifications.freedesktop.org/basedir-spec/
    match sys.platform:
        case "darwin":
            folder = "~/Library/Application Support/bridge"
        case "win32":
            folder = f"{environ.get('LOCALAPPDATA', '~')}/bridge"
        case _:
            folder = f"{environ.get('XDG_DATA_HOME') or '~/.local/share'}/bridge"
    variables = {"BRIDGE_DATA_DIR": folder, **Variables(environ)()}
    if not variables.keys() & {"SLACK_SIGNING_SECRET", "SLACK_APP_TOKEN"}:
        variables["SLACK_APP_TOKEN"] = ValueError(
            "is missing: set it to the app-level token (xapp-…) for Socket Mode, or set SLACK_SIGNING_SECRET for HTTP"
        )
    elif isinstance(variables.get("SLACK_APP_TOKEN"), str):
        variables.setdefault("BRIDGE_HOST", "127.0.0.1")
    if "REDIS_URL" not in variables:
        variables["REDIS_URL"] = ValueError(
            "is missing: set it to an address such as redis://localhost:6379/0, or to embedded (one machine only)"
        )
    values, problems = dict[str, Any](), list[str]()
    for name, field in ((str(field.alias), field) for field in Settings.model_fields.values()):
        if name not in variables and field.is_required():
            first = " ".join(str(field.description).split()).replace("*", "").partition(". ")[0].rstrip(".")
            problems.append(f"{name} is missing: set it to {first[0].lower()}{first[1:]}")
            continue
        try:
            values[name] = _adapters()[name].validate_python(variables.get(name, field.default))
        except ValidationError as exc:  # a ValueError from here or from `bridge.setting_types`
            problems.append(f"{name} {exc.errors(include_url=False, include_input=False)[0]['ctx']['error']}")
    return values, problems


@cache
def _adapters() -> dict[str, TypeAdapter[Any]]:
    """What reads the value of each variable alone."""
    shapes: dict[str, Any] = {
        str(field.alias): Annotated[field.annotation, *field.metadata] for field in Settings.model_fields.values()
    }
    return {name: TypeAdapter(shape) for name, shape in shapes.items()}


def environment(
    process: Mapping[str, str], env_file: Path, *, embedded_redis: bool = False, slips: list[str] | None = None
) -> dict[str, str]:
    """Return the variables of *env_file*, if it exists, and of the *process*, which override them, without empty ones.

    A variable of the process also overrides its ``_FILE`` twin in the file, and vice versa; what Kubernetes sets for
    Services overrides nothing. Empty ones that restrict access stay. With *embedded_redis*, REDIS_URL is `EMBEDDED` if
    it isn't set.

    A line that can't be parsed, or a name that's almost one of a list that restricts access, is a slip: a problem that
    mustn't go unnoticed.
    Raises `ConfigurationError` with them, or adds them to *slips*.
    """
    problems: list[str] = []
    pairs: dict[str, str] = {}
    for binding, number in _bindings(env_file):
        problems += _slips_in(binding, f"{env_file} line {number}")
        if binding.key is not None and binding.value is not None:
            pairs[binding.key] = binding.value
    for name in process:
        meant = _meant(name)
        if meant in _ACCESS and (name.upper().startswith("BRIDGE") or _ID.search(process[name])):
            problems.append(f"{name} isn't a setting: did you mean {meant}?")
    if problems and slips is None:
        raise ConfigurationError(problems)
    if slips is not None:
        slips += problems
    services = {name: value for name, value in process.items() if _is_of_service(name, value)}
    own = {
        name: value for name, value in process.items() if (value.strip() or name in _ACCESS) and name not in services
    }
    hidden = {*own, *(f"{name}_FILE" for name in own), *(name.removesuffix("_FILE") for name in own)}
    from_file = {name: value for name, value in pairs.items() if (value or name in _ACCESS) and name not in hidden}
    variables = services | from_file | own
    if embedded_redis and not variables.keys() & {"REDIS_URL", "REDIS_URL_FILE"}:
        variables["REDIS_URL"] = EMBEDDED
    return variables


def origins(process: Mapping[str, str], env_file: Path) -> dict[str, str]:
    """Return where each variable of `environment` is set: in the ``environment``, or in a line such as ``.env:3``."""
    places = {binding.key: f"{env_file}:{number}" for binding, number in _bindings(env_file) if binding.key}
    own = (name for name, value in process.items() if value.strip() or name in _ACCESS)
    return places | dict.fromkeys((name for name in own if not _is_of_service(name, process[name])), "environment")


def _bindings(env_file: Path) -> list[tuple[Binding, int]]:
    """Parse *env_file*, if it exists; each of its bindings comes with its line. Raises `ConfigurationError`."""
    try:
        text = env_file.read_text(encoding="utf-8-sig") if env_file.is_file() else ""
    except (OSError, UnicodeDecodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "not text"
        raise ConfigurationError([f"{env_file} can't be read ({why}): fix or remove it"]) from None
    numbered = []
    for binding in parse_stream(StringIO(text)):  # without interpolation: a password may contain "${"
        line = binding.original.string
        numbered.append((binding, binding.original.line + line[: len(line) - len(line.lstrip())].count("\n")))
    return numbered


def _slips_in(binding: Binding, where: str) -> list[str]:
    """Return a problem if a line of the .env file, or several, isn't what it seems to be; never its value."""
    typed = binding.original.string.strip()
    word = re.match(r"(?:export\s+)?[\"']?([\w-]+)", typed, re.ASCII)
    name = word[1] if word else ""
    meant = name if name in _NAMES else _meant(name)
    if binding.error or (binding.key is not None and binding.value is None):
        quotes = " and close its quotation marks" if re.search(r"=\s*[\"']", typed) else ""
        return [f"{where} can't be parsed: write it as {meant or 'NAME'}=value{quotes}"]
    if binding.key is None:
        return []
    swallowed = [line for line in typed.splitlines()[1:] if _ASSIGNMENT.match(line)]
    if "\n" in (binding.value or "") and (meant or swallowed):
        return [f"{where} has a value of several lines: close the quotation marks in its first line"]
    if (meant := _meant(binding.key)) in _ACCESS:
        return [f"{where} sets {meant} under another name: write it as {meant}=value"]
    return []


def _words(name: str) -> str:
    """Return the telling words in *name*, singular and in order: ``BRIDGE_USER_IDS_ALLOWED`` is ``ALLOWED USER``."""
    words = (word.removesuffix("S") for word in re.findall("[A-Z]+", name.upper()))
    return " ".join(sorted(word for word in words if not re.fullmatch("BRI.{1,4}|SLACK|ID", word)))


_BY_WORDS = {_words(name): name for name in sorted(_NAMES)}


def _meant(name: str) -> str:
    """Return the setting that an unknown *name* seems to be; ``""`` if there's none, or it's another program's."""
    words = _words(name)  # BRIDGE_ALLOWED_IDS is a list's, BRIDGE_ALLOWED_ORIGINS isn't
    near = nearest(words, _BY_WORDS, least=0.73) if "BRI" in name.upper() else [words]
    return "" if name in _NAMES else _BY_WORDS.get("".join(near), "")


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Return a line for each unknown ``BRIDGE_…`` variable that isn't a slip, with the setting probably meant."""
    lines = []
    for name in sorted(environ):
        if _is_of_service(name, environ[name]):
            if name in _NAMES:
                why = "because Kubernetes set it to a Service's address"
                lines.append(f"{name} is ignored, {why}: set enableServiceLinks to false in the pod")
        elif name.upper().startswith(_PREFIX) and name not in _NAMES and (meant := _meant(name)) not in _ACCESS:
            lines.append(f"{name} isn't a setting" + (f": did you mean {meant}?" if meant else ""))
    return lines


def env_example() -> str:
    """Return the text of ``.env.example``: each setting with its description, optional ones commented out."""
    lines = [
        "# The bridge's settings. Copy this file to .env, and fill in the lines without a leading #. For HTTP, set",
        "# SLACK_SIGNING_SECRET instead of SLACK_APP_TOKEN; for Docker Compose, REDIS_PASSWORD instead of REDIS_URL.",
        "# Environment variables override this file. To read a value from a file, add _FILE to the setting's name and",
        "# set it to the file's path, such as SLACK_BOT_TOKEN_FILE=/run/secrets/token.",
    ]
    for field in Settings.model_fields.values():
        plain = re.sub(r"\*([^*]+)\*|<(https?:[^<>]+)>", r"\1\2", str(field.description))  # it's Markdown
        lines += ["", *textwrap.wrap(plain, 116, initial_indent="# ", subsequent_indent="# ")]
        is_open = field.is_required() or field.alias == "SLACK_APP_TOKEN"  # `bridge setup` suggests Socket Mode, too
        lines.append(f"{field.alias}=" if is_open else f"#{field.alias}={(field.examples or [field.default])[0]}")
    lines += [
        "",
        "# Only for docker-compose.yml: the password of its Redis (letters and digits).",
        "#REDIS_PASSWORD=",
        "",
        "# Only for docker-compose.yml: how many replicas run. Each needs a port: for three, BRIDGE_PORT=3000-3002.",
        "#REPLICAS=1",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(env_example())
