"""`bridge trace` and `bridge dead`, as processes next to a running bridge; one bridge for the file."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL
from support.forks import run
from support.waiting import wait_until
from support.world import World, shared_world, words_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOWHERE = "http://127.0.0.1:9/slack/events"


opened, world = shared_world(BRIDGE_DEFAULT_AGENT="1")


async def bridge_says(world: World, folder: Path, *words: str, **environ: str) -> tuple[int, str, str]:
    """Run the command line with only the Redis URL; return its exit code, stdout and stderr."""
    here = {"REDIS_URL": world.redis_url, "BRIDGE_NAMESPACE": world.namespace}
    return await run(words, folder, {"PATH": os.environ["PATH"], "NO_COLOR": "1", "TERM": "dumb", **here, **environ})


async def steps(world: World, folder: Path, *message: str) -> list[dict[str, Any]]:
    code, said, _ = await bridge_says(world, folder, "trace", *message, "--json")
    assert code == 0
    return list(json.loads(said)["steps"])


def link(ts: str) -> str:
    return f"https://playground.slack.com/archives/{GENERAL}/p{ts.replace('.', '')}"


async def test_a_repeated_mention_is_traced_by_its_permalink(world: World, tmp_path: Path) -> None:
    address, world.slack.events_url = world.slack.events_url, NOWHERE
    root = await world.mention(ALICE, GENERAL, "a question for the trace")
    await wait_until(lambda: any(one.error for one in world.slack.deliveries), "the delivery to Slack failed")
    world.slack.events_url = address
    await world.answered(GENERAL, root)

    code, said, _ = await bridge_says(world, tmp_path, "trace", link(root))
    told = await steps(world, tmp_path, GENERAL, root)

    assert code == 0
    assert "a question" not in said
    assert "it mentions the bot" in said
    assert [step["what"] for step in told if step["what"] != "duplicate"] == [
        "received", "decided", "queued", "sent", "answered", "posted", "done",
    ]  # fmt: skip
    twins = [step["detail"] for step in told if step["what"] in {"received", "duplicate"}]
    assert len(twins) == 2
    assert all("resent by Slack (retry " in detail for detail in twins)
    assert len({step["process"] for step in told}) == 1
    assert told == sorted(told, key=lambda step: step["at"])


async def test_an_ignored_and_an_unknown_message_say_why(world: World, tmp_path: Path) -> None:
    ignored = await world.slack.people.say(ALICE, GENERAL, "hello everybody")
    await wait_until(lambda: _is_passed_over(world, ignored), "the event is recorded")

    told = await steps(world, tmp_path, f"{GENERAL}/{ignored}")
    code, said, aside = await bridge_says(world, tmp_path, "trace", link("1500000000.000100"))

    assert [(step["what"], step["detail"]) for step in told][1] == (
        "decided", "not for an agent: not addressed to the bot",
    )  # fmt: skip
    assert (code, said) == (1, "")
    assert "No record of this message" in aside


async def _is_passed_over(world: World, ts: str) -> bool:
    lists = [await world.redis.lrange(key, 0, -1) for key in await world.keys() if ":passed:" in key]
    return any(line.startswith(ts) for lines in lists for line in lines)


async def test_the_card_of_a_run_leads_to_the_command(world: World, tmp_path: Path) -> None:
    await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
    await wait_until(lambda: any("completed" in words_of(one) for one in _cards(world)), "the run has ended")

    told = await steps(world, tmp_path, link(_cards(world)[-1].ts))

    details = {step["what"]: step["detail"] for step in told}
    assert (details["received"], details["answered"]) == ("a slash command", "the workflow ran")


def _cards(world: World) -> list[Message]:
    return [one for one in world.slack.messages(GENERAL) if one.user == BRIDGE and not one.thread_ts]


async def test_a_running_bridge_posts_a_retried_dead_letter(world: World, tmp_path: Path) -> None:
    world.slack.faults.on("chat.postMessage", Error("is_archived"), channel=GENERAL)
    root = await world.mention(ALICE, GENERAL, "nobody hears this")
    await wait_until(lambda: _dead(world), "the message is a dead letter")
    asked = world.chats()

    code, said, _ = await bridge_says(world, tmp_path, "dead", "list", "--json")
    [letter] = json.loads(said)["dead"]
    retried = await bridge_says(world, tmp_path, "dead", "retry", letter["id"])
    await world.answered(GENERAL, root)
    again = await bridge_says(world, tmp_path, "dead", "drop", letter["id"])

    assert (code, retried[0], again[0]) == (0, 0, 1)
    assert letter["permalink"] == link(root)
    assert letter["user"] == ALICE
    assert "nobody hears" not in said
    assert world.chats() == asked
    assert len(world.answers(GENERAL, root)) == 1
    assert "No dead letter" in again[2]


async def _dead(world: World) -> bool:
    return bool(await world.redis.zcard(f"{{{world.namespace}}}:dead"))


async def test_each_command_says_where_it_looks(world: World, tmp_path: Path) -> None:
    place = world.redis_url
    project = {name: world.bridges[0].environ[name] for name in ("PROJECT_BASE_URL", "PROJECT_API_KEY")}
    commands = (("audit",), ("dead", "list"), ("feedback",), ("stats", "--since", "7d"), ("trace", link("1.000100")))

    told = [await bridge_says(world, tmp_path, *words, "--json", **project) for words in commands]
    code, nothing, elsewhere = await bridge_says(world, tmp_path, "audit", "--json", BRIDGE_NAMESPACE="nobodys")

    here = f"Reading namespace {world.namespace} in {place}: a bridge is running.\n"
    assert [aside for _, _, aside in told] == [here] * len(commands)
    said = [text for words, (_, out, _) in zip(commands, told, strict=True) for text in _documents(words, out)]
    assert all(json.loads(text) for text in said)
    assert (code, nothing, elsewhere.count("\n")) == (0, "", 1)
    assert elsewhere.startswith(f"Reading namespace nobodys in {place}: no bridge has used it. This Redis has ")
    assert "; set BRIDGE_NAMESPACE to read one of those." in elsewhere


def _documents(words: tuple[str, ...], said: str) -> list[str]:
    """JSON documents in *said*: one per line for the audit and feedback, else a single one."""
    return said.splitlines() if words[0] in {"audit", "feedback"} else [said]


async def test_a_missing_or_wrong_redis_is_one_line(world: World, tmp_path: Path) -> None:
    missing, away = await asyncio.gather(
        bridge_says(world, tmp_path, "dead", "list", REDIS_URL=""),
        bridge_says(world, tmp_path, "trace", link("1500000000.000100"), REDIS_URL="redis://127.0.0.1:9/0"),
    )

    assert (missing[0], missing[2].count("\n"), missing[2].split()[0]) == (2, 1, "REDIS_URL")
    assert (away[0], away[2].count("\n")) == (1, 1)
