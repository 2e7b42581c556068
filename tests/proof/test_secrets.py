"""No secret shows up when a part of the bridge is printed, logged or in a traceback."""

from __future__ import annotations

import copy
import logging
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bridge.door.guard import Guard
from bridge.errors import ConfigurationError, StoreUnavailable
from bridge.logs import configure
from bridge.metrics import Metrics
from bridge.project import ProjectClient
from bridge.queue.redis.condition import condition_of
from bridge.queue.redis.connection import blocking_connection, connect
from bridge.settings import Settings, load, well_formed
from bridge.slack.api import opened
from support.secrecy import API_KEY, APP_TOKEN, BOT_TOKEN, REDIS_PASSWORD, SIGNING_SECRET, secrets_in
from support.tables import each

GIVEN = {
    "SLACK_BOT_TOKEN": BOT_TOKEN,
    "SLACK_SIGNING_SECRET": SIGNING_SECRET,
    "SLACK_APP_TOKEN": APP_TOKEN,
    "PROJECT_BASE_URL": "http://127.0.0.1:9/",
    "PROJECT_API_KEY": API_KEY,
    "REDIS_URL": f"redis://user:{REDIS_PASSWORD}@127.0.0.1:9/0",
}
HIDDEN = [name for name in GIVEN if name != "PROJECT_BASE_URL"]


def every_form(part: Any) -> Iterator[str]:
    """The forms in which a value might be logged while debugging."""
    yield from (repr(part), str(part), f"{part}", repr([part]), repr({"part": part}))
    if isinstance(part, Settings):
        yield from (
            part.model_dump_json(),
            repr(part.model_dump()),
            repr(part.model_dump(by_alias=True)),
            repr(dict(part)),
        )
        yield repr(copy.deepcopy(part).__dict__)


def test_the_settings_show_no_secret_in_any_form() -> None:
    settings = load(GIVEN)

    assert [secrets_in(form) for form in every_form(settings) if secrets_in(form)] == []


def test_well_formed_values_show_no_secret() -> None:
    values = well_formed(GIVEN)

    assert values["SLACK_BOT_TOKEN"].get_secret_value() == BOT_TOKEN
    assert [secrets_in(form) for form in every_form(values) if secrets_in(form)] == []


async def test_components_that_hold_secrets_show_none() -> None:
    settings = load(GIVEN)
    url = str(settings.redis_url.get_secret_value() if settings.redis_url else "")
    redis, blocking = connect(url), blocking_connection(url)
    async with (
        ProjectClient(settings.project_base_url, settings.project_api_key.get_secret_value()) as project,
        opened("http://127.0.0.1:9/api/", BOT_TOKEN, Metrics()) as web,
    ):
        guard = Guard(SIGNING_SECRET, Metrics())
        parts = [project, redis, redis.connection_pool, blocking, web, web.client, guard]
        shown = "\n".join(form for part in parts for form in every_form(part))
    await redis.aclose()
    await blocking.aclose()

    assert secrets_in(shown) == []


@contextmanager
def everything_logged(path: Path, log_format: Any) -> Iterator[None]:
    """Log everything from DEBUG up to a file, configured as in the bridge."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    with path.open("w") as stream:
        configure(log_format, "DEBUG", stream)
        try:
            yield
        finally:
            root.handlers[:] = handlers
            root.setLevel(level)


@pytest.mark.parametrize("log_format", ["console", "json"])
async def test_an_unreachable_redis_is_reported_without_its_password(tmp_path: Path, log_format: str) -> None:
    redis = connect(GIVEN["REDIS_URL"])
    with everything_logged(tmp_path / "log", log_format):
        try:
            await condition_of(redis, "bridge", lambda: 0.0)
        except StoreUnavailable as exc:
            logging.getLogger("bridge.test").exception("it failed")
            text = "".join(traceback.format_exception(exc))
        finally:
            await redis.aclose()

    assert "StoreUnavailable" in text
    assert secrets_in(text + (tmp_path / "log").read_text()) == []


@each("variable", HIDDEN)
def test_a_secret_that_is_malformed_is_reported_without_it(variable: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load({**GIVEN, variable: f"ö {GIVEN[variable]}"})

    assert variable in str(caught.value)
    assert secrets_in("".join(traceback.format_exception(caught.value))) == []


@pytest.mark.parametrize("variable", HIDDEN)
def test_every_secret_may_come_from_a_file_and_stays_hidden(variable: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text(GIVEN[variable] + "\n")
    environ = {name: value for name, value in GIVEN.items() if name != variable} | {f"{variable}_FILE": str(file)}

    settings = load(environ)

    assert settings.model_dump() == load(GIVEN).model_dump()
    assert secrets_in(repr(settings)) == []


@pytest.mark.parametrize("line", ["print({!r})", "import logging; logging.error('it is %s', {!r})"])
def test_a_test_that_shows_a_secret_fails(line: str, tmp_path: Path) -> None:
    text = f"the key is {API_KEY}"
    (tmp_path / "test_it.py").write_text(f"def test_it():\n    {line.format(text)}\n")

    output = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "support.secrecy", "-q", "test_it.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[1]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    ).stdout

    assert "1 failed" in output
    assert "a secret is in the output of this test" in output
