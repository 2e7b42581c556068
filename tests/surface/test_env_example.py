"""`.env.example` matches the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

import bridge
from bridge.errors import ConfigurationError
from bridge.settings import VARIABLES, env_example, environment, load

FILE = Path(bridge.__file__).parent.parent / ".env.example"


def test_the_file_matches_the_settings() -> None:
    assert FILE.read_text(encoding="utf-8") == env_example(), "run make env-example"


def test_a_copy_lacks_only_unpredictable_values() -> None:
    environ = environment({}, FILE)

    with pytest.raises(ConfigurationError) as caught:
        load(environ)

    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "SLACK_BOT_TOKEN is missing",
        "SLACK_APP_TOKEN is missing",
        "PROJECT_BASE_URL is missing",
        "PROJECT_API_KEY is missing",
        "REDIS_URL is missing",
    ]


def test_uncommented_examples_are_accepted(tmp_path: Path) -> None:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    opened = [line.removeprefix("#") for line in lines if line.startswith(tuple(f"#{name}=" for name in VARIABLES))]
    (tmp_path / ".env").write_text("\n".join(opened), encoding="utf-8")
    needed = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "s", "PROJECT_API_KEY": "k", "REDIS_URL": "embedded"}

    settings = load(environment({**needed, "PROJECT_BASE_URL": "http://localhost"}, tmp_path / ".env"))

    assert settings.default_agent == "Support"
    assert settings.allowed_channels == {"C0123456789", "C0ABCDEFGHI"}
