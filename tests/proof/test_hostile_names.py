"""Names that try to drive a terminal reach no output of any command, whoever chose them."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bridge import cli
from bridge.playground.emulator.faults import Error, Http
from bridge.playground.emulator.sample import ALICE, BRIDGE, BRIDGE_BOT, GENERAL, TEAM
from bridge.playground.sample_project.answers import PlannedAnswer
from support.forks import run
from support.secrecy import SIGNING_SECRET
from support.system import System, text_of
from support.waiting import wait_until

MARK = "FORGED"
HOSTILE = f"a\x1b]0;x\x07\x1b[2J\x9b31mb\u202egpj\u2066\u200bc\r\n{MARK} row\n  ✓ {MARK}"
COMMANDS = (
    ("check",),
    ("check", "--access", ALICE, GENERAL),
    ("status",),
    ("audit", "--since", "7d"),
    ("catch-up",),
    ("trace", "{message}"),
    ("export",),
    ("config", "show"),
    ("config", "reload"),
    ("import", HOSTILE),
    ("forget", HOSTILE),
    ("dead", "list"),
    ("dead", "retry", HOSTILE),
    ("dead", "drop", "{dead}"),
    (HOSTILE,),
    ("audit", "--since", HOSTILE),
    ("trace", HOSTILE),
)
NOT_RUN = {"serve", "playground", "setup", "manifest"}  # logs, or nothing of others


def make_hostile(system: System) -> None:
    """Give everything that has a name a hostile one."""
    slack, operations = system.slack.workspace, system.project.operations
    for person in list(slack.people.values()):
        slack.people.put(person.id, replace(person, name=HOSTILE, real_name=HOSTILE))
    for channel in list(slack.channels.values()):
        channel.name = channel.name and HOSTILE
    identity = {
        "ok": True, "url": f"https://{HOSTILE}/", "team": HOSTILE, "user": HOSTILE, "team_id": TEAM, "user_id": BRIDGE,
        "bot_id": BRIDGE_BOT,
    }  # fmt: skip
    system.slack.faults.on("auth.test", Http(200, json.dumps(identity)), times=None)
    for one in [*operations.agents, *operations.workflows]:
        one.name = one.description = HOSTILE
    for agent in operations.agents:
        agent.model = HOSTILE


def names_of(group: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    commands = getattr(group, "commands", None)
    if commands is None:
        return [path]
    return [found for name, one in commands.items() for found in names_of(one, (*path, name))]


def assert_harmless(output: str) -> None:
    assert [one for one in output if not (one.isprintable() or one == "\n")] == [], repr(output)
    assert [line for line in output.splitlines() if re.match(rf"\W*{MARK}", line)] == [], output


def test_every_command_is_walked() -> None:
    walked = {words for command in COMMANDS for words in (command[:1], command[:2])}

    paths = [path for name in cli.COMMANDS for path in names_of(cli.command_of(name), (name,))]
    assert [path for path in paths if path not in walked and path[0] not in NOT_RUN] == []


@pytest.mark.parametrize("is_answered", [True, False], ids=["a project", "an error"])
async def test_no_command_prints_what_a_terminal_obeys(system: System, tmp_path: Path, is_answered: bool) -> None:  # noqa: FBT001
    make_hostile(system)
    bridge = await system.start_bridge(BRIDGE_DEFAULT_AGENT="1", BRIDGE_LOG_FORMAT="console")
    root = await system.mention(ALICE, GENERAL, f"1: {HOSTILE}")
    await system.answered(GENERAL, root)
    await system.slack.ui.command(ALICE, GENERAL, "/workflows", f"run 1 {HOSTILE}")
    await wait_until(lambda: any("completed" in text_of(one) for one in system.posted(GENERAL)), "the run has ended")
    system.slack.faults.on("chat.postMessage", Error(HOSTILE), channel=GENERAL)
    lost = await system.mention(ALICE, GENERAL, "lost")
    await wait_until(lambda: _dead(system), "the message is a dead letter")
    await system.redis.hset(f"{{{HOSTILE}}}:owner", mapping={"since": "1", "owner": HOSTILE})
    if not is_answered:
        for method in ("GET", "POST"):
            system.project.on(method, "*", PlannedAnswer(status=500, json={"error": HOSTILE}), times=None)
    (letter,) = await system.redis.zrange(f"{{{system.namespace}}}:dead", 0, -1)
    environ = {**bridge.environ, "PATH": os.environ["PATH"], "SLACK_SIGNING_SECRET": SIGNING_SECRET, "TERM": "xterm"}
    told = {"{message}": f"https://x.slack.com/archives/{GENERAL}/p{lost.replace('.', '')}", "{dead}": str(letter)}

    for command in COMMANDS:
        for more in ((), ("--json",)):
            words = [told.get(word, word) for word in command] + list(more)
            _code, output, stderr = await run(words, tmp_path, environ)
            assert_harmless(output)
            assert_harmless(stderr)
    other = {
        **environ,
        "BRIDGE_NAMESPACE": "nobodys",
        f"BRIDGE_{HOSTILE}": HOSTILE,
        f"BRIDGE_ALLOWED_USER{HOSTILE}": "1",
    }
    for words in (["check"], ["dead", "list"], ["serve"]):
        assert_harmless("".join(map(str, (await run(words, tmp_path, other))[1:])))
    assert_harmless(bridge.log.decode())
    await system.redis.delete(f"{{{HOSTILE}}}:owner")


async def _dead(system: System) -> bool:
    return bool(await system.redis.zcard(f"{{{system.namespace}}}:dead"))
