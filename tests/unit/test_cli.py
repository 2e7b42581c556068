"""What a command leaves behind: its exit code, and a line for each trouble."""

from __future__ import annotations

import asyncio

import pytest

from bridge.cli.running import run, trouble_lines
from bridge.errors import BridgeError, ConfigurationError, NamespaceTaken, SlackRefused, StoreUnavailable


def test_what_ran_gives_its_exit_code() -> None:
    async def stopped() -> int:
        return 3

    assert run(stopped) == 3


@pytest.mark.parametrize(
    ("trouble", "code", "line"),
    [
        (
            StoreUnavailable("loading"),
            1,
            "bridge cannot run: Redis is of no use (loading); look at it, and at REDIS_URL",
        ),
        (ConfigurationError(["BRIDGE_PORT 3000 is taken"]), 2, "BRIDGE_PORT 3000 is taken"),
    ],
)
def test_trouble_is_a_line_and_a_code_also_out_of_a_task_group(
    trouble: BridgeError, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken() -> int:
        raise trouble

    async def broken_in_a_task() -> int:
        async with asyncio.TaskGroup() as group:
            group.create_task(broken())
        return 0

    assert run(broken) == code
    assert run(broken_in_a_task) == code
    assert capsys.readouterr().err == f"{line}\n{line}\n"


def test_what_is_not_on_purpose_is_not_hidden() -> None:
    async def broken() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(broken)


@pytest.mark.parametrize(
    ("trouble", "word"),
    [
        (NamespaceTaken("acme", "T1/U1"), "BRIDGE_NAMESPACE"),
        (SlackRefused("auth.test", "invalid_auth"), "SLACK_BOT_TOKEN"),
        (BridgeError("something"), "BridgeError: something"),
    ],
)
def test_every_trouble_has_a_line_that_says_where_to_look(trouble: BridgeError, word: str) -> None:
    (line,) = trouble_lines(trouble)

    assert word in line
