"""What operators run next to a bridge: trace, dead, audit, forget, export and check; on one bridge."""

from __future__ import annotations

import asyncio
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL, GUEST, RANDOM, SHARED, TEAM
from support.forks import run
from support.secrecy import BOT_TOKEN, secrets_in
from support.system import System, shared_system, text_of
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOWHERE = "http://127.0.0.1:9/slack/events"


opened, system = shared_system(is_at_rest=True, BRIDGE_DEFAULT_AGENT="1")


async def bridge_says(system: System, folder: Path, *words: str, **environ: str) -> tuple[int, str, str]:
    """Run the command line with only the Redis URL; return its exit code, stdout and stderr."""
    here = {"REDIS_URL": system.redis_url, "BRIDGE_NAMESPACE": system.namespace}
    return await run(words, folder, {"PATH": os.environ["PATH"], "NO_COLOR": "1", "TERM": "dumb", **here, **environ})


def project_of(system: System) -> dict[str, str]:
    return {name: system.bridges[0].environ[name] for name in ("PROJECT_BASE_URL", "PROJECT_API_KEY")}


async def steps(system: System, folder: Path, *message: str) -> list[dict[str, Any]]:
    code, output, _ = await bridge_says(system, folder, "trace", *message, "--json")
    assert code == 0
    return list(json.loads(output)["steps"])


def link(ts: str) -> str:
    return f"https://playground.slack.com/archives/{GENERAL}/p{ts.replace('.', '')}"


async def test_a_repeated_mention_is_traced_by_its_permalink(system: System, tmp_path: Path) -> None:
    address, system.slack.events_url = system.slack.events_url, NOWHERE
    root = await system.mention(ALICE, GENERAL, "a question for the trace")
    await wait_until(lambda: any(one.error for one in system.slack.deliveries), "the delivery to Slack failed")
    system.slack.events_url = address
    await system.answered(GENERAL, root)

    code, output, _ = await bridge_says(system, tmp_path, "trace", link(root))
    found = await steps(system, tmp_path, GENERAL, root)

    assert code == 0
    assert "a question" not in output
    assert "it mentions the bot" in output
    assert [step["what"] for step in found if step["what"] != "duplicate"] == [
        "received", "decided", "queued", "sent", "answered", "posted", "done",
    ]  # fmt: skip
    *twins, read = [step["detail"] for step in found if step["what"] in {"received", "duplicate"}]
    assert len(twins) == 2
    assert all("resent by Slack (retry " in detail for detail in twins)
    assert read.startswith("found in Slack's history")  # for replies that overtook it
    assert len({step["process"] for step in found}) == 1
    assert found == sorted(found, key=lambda step: step["at"])


async def test_an_ignored_and_an_unknown_message_say_why(system: System, tmp_path: Path) -> None:
    ignored = await system.slack.people.say(ALICE, GENERAL, "hello everybody")
    await wait_until(lambda: _is_passed_over(system, ignored), "the event is recorded")

    found = await steps(system, tmp_path, f"{GENERAL}/{ignored}")
    code, output, stderr = await bridge_says(system, tmp_path, "trace", link("1500000000.000100"))

    assert [(step["what"], step["detail"]) for step in found][1] == (
        "decided", "not for an agent: not addressed to the bot",
    )  # fmt: skip
    assert (code, output) == (1, "")
    assert "No record of this message" in stderr


async def _is_passed_over(system: System, ts: str) -> bool:
    lists = [await system.redis.lrange(key, 0, -1) for key in await system.keys() if ":passed:" in key]
    return any(line.startswith(ts) for lines in lists for line in lines)


async def test_a_run_card_is_traced_to_its_command(system: System, tmp_path: Path) -> None:
    await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 hello")
    await wait_until(lambda: any("completed" in text_of(one) for one in _cards(system)), "the run has ended")

    found = await steps(system, tmp_path, link(_cards(system)[-1].ts))

    details = {step["what"]: step["detail"] for step in found}
    assert (details["received"], details["answered"]) == ("a slash command", "the workflow ran")


def _cards(system: System) -> list[Message]:
    return [one for one in system.slack.messages(GENERAL) if one.user == BRIDGE and not one.thread_ts]


async def test_a_running_bridge_posts_a_retried_dead_letter(system: System, tmp_path: Path) -> None:
    system.slack.faults.on("chat.postMessage", Error("is_archived"), channel=GENERAL)
    root = await system.mention(ALICE, GENERAL, "nobody hears this")
    await wait_until(lambda: _dead(system), "the message is a dead letter")
    asked = system.chats()

    code, output, _ = await bridge_says(system, tmp_path, "dead", "list", "--json")
    [letter] = json.loads(output)["dead"]
    retried = await bridge_says(system, tmp_path, "dead", "retry", letter["id"])
    await system.answered(GENERAL, root)
    again = await bridge_says(system, tmp_path, "dead", "drop", letter["id"])

    assert (code, retried[0], again[0]) == (0, 0, 1)
    assert letter["permalink"] == link(root)
    assert letter["user"] == ALICE
    assert "nobody hears" not in output
    assert system.chats() == asked
    assert len(system.answers(GENERAL, root)) == 1
    assert "No failed work has the ID" in again[2]


async def _dead(system: System) -> bool:
    return bool(await system.redis.zcard(f"{{{system.namespace}}}:dead"))


async def test_each_command_names_the_namespace_and_redis_it_reads(system: System, tmp_path: Path) -> None:
    place = system.redis_url
    commands = (("audit",), ("dead", "list"), ("trace", link("1.000100")))

    found = [await bridge_says(system, tmp_path, *words, "--json", **project_of(system)) for words in commands]
    code, nothing, elsewhere = await bridge_says(system, tmp_path, "audit", "--json", BRIDGE_NAMESPACE="nobodys")

    here = f"Reading namespace {system.namespace} in {place}: a bridge is running.\n"
    assert [stderr for _, _, stderr in found] == [here] * len(commands)
    said = [text for words, (_, out, _) in zip(commands, found, strict=True) for text in _documents(words, out)]
    assert all(json.loads(text) for text in said)
    assert (code, nothing, elsewhere.count("\n")) == (0, "", 1)
    assert elsewhere.startswith(
        f"Reading namespace nobodys in {place}: no bridge has used this namespace. Others here: "
    )
    assert ". To read one, set BRIDGE_NAMESPACE." in elsewhere


def _documents(words: tuple[str, ...], said: str) -> list[str]:
    """JSON documents in *said*: one per line for the audit, else a single one."""
    return said.splitlines() if words[0] == "audit" else [said]


async def test_a_missing_or_wrong_redis_is_one_line(system: System, tmp_path: Path) -> None:
    missing, away = await asyncio.gather(
        bridge_says(system, tmp_path, "dead", "list", REDIS_URL=""),
        bridge_says(system, tmp_path, "trace", link("1500000000.000100"), REDIS_URL="redis://127.0.0.1:9/0"),
    )

    assert (missing[0], missing[2].count("\n"), missing[2].split()[0]) == (2, 1, "REDIS_URL")
    assert (away[0], away[2].count("\n")) == (1, 1)


def rows(table: str) -> list[list[str]]:
    return [re.split(r"  +", line) for line in table.splitlines()[1:]]


async def test_the_audit_names_people_channels_and_agents(system: System, tmp_path: Path) -> None:
    key = f"{{{system.namespace}}}:audit"
    before = await system.redis.xlen(key)
    root = await system.mention(ALICE, RANDOM, "hello there")
    await system.answered(RANDOM, root)
    slack = {"SLACK_API_URL": system.slack.api_url, "SLACK_BOT_TOKEN": BOT_TOKEN}

    async def is_saved() -> bool:
        return int(await system.redis.xlen(key)) > before

    await wait_until(is_saved, "the message is in the audit")
    _, named, said = await bridge_says(system, tmp_path, "audit", **slack, **project_of(system))
    unknown = slack | {"SLACK_BOT_TOKEN": "xoxb-of-nobody"}
    _, plain, why = await bridge_says(system, tmp_path, "audit", **unknown)
    _, data, _ = await bridge_says(system, tmp_path, "audit", "--json", **slack, **project_of(system))

    about = [f"Alice Adler ({ALICE})", f"#random ({RANDOM})", "message", "agent Memory (1)", "answered"]
    assert about in [row[1:] for row in rows(named)]
    assert "Showing IDs" not in said
    assert [ALICE, RANDOM, "message", "agent 1", "answered"] in [row[1:] for row in rows(plain)]
    assert "Showing IDs instead of names (Slack: rejected by Slack (invalid_auth))." in why
    assert "Alice" not in data
    assert secrets_in(said + why) == []


async def test_a_forgotten_person_is_in_no_key(system: System, tmp_path: Path) -> None:
    root = await system.mention(ALICE, GENERAL, "hello there")
    await system.answered(GENERAL, root)
    await system.replied(BOB, GENERAL, root, f"<@{BRIDGE}> and what about me?")
    await wait_until(system.is_at_rest, "both are answered")

    code, output, _ = await bridge_says(system, tmp_path, "forget", ALICE)
    wrong, _, complaint = await bridge_says(system, tmp_path, "forget", "Alice")

    assert (code, wrong) == (0, 2)
    assert output.startswith("Erased: ")
    assert "messages in Slack" in output
    assert "isn't a member ID" in complaint
    _, shown, _ = await bridge_says(system, tmp_path, "audit")
    assert BOB in shown
    assert ALICE not in shown
    assert [key for key in await system.keys() if ALICE in key] == []


async def test_what_people_set_up_is_exported_and_imported_by_command(system: System, tmp_path: Path) -> None:
    key = f"{{{system.namespace}}}:reports"
    await system.slack.ui.command(ALICE, RANDOM, "/stats", "report weekly fri 17:00 berlin")

    async def made() -> list[str]:
        return list(await system.redis.zrange(key, 0, -1))

    await wait_until(made, "the report is scheduled")
    (report,) = await made()
    _, exported, _ = await bridge_says(system, tmp_path, "export")
    (tmp_path / "export.jsonl").write_text(exported)
    for index in ("reports", "due"):
        await system.redis.zrem(f"{{{system.namespace}}}:{index}", report)
    await system.redis.delete(f"{{{system.namespace}}}:report:{report}")

    code, printed, _ = await bridge_says(system, tmp_path, "import", "export.jsonl")
    _, twice, _ = await bridge_says(system, tmp_path, "import", "export.jsonl")
    _, again, _ = await bridge_says(system, tmp_path, "export")

    assert (code, printed) == (0, "Set up: 1 schedule.\n")
    assert twice == "Set up: nothing. 1 already there.\n"
    assert again == exported
    heading, line = (json.loads(one) for one in exported.splitlines())
    assert heading == {"bridge": "export", "v": 1, "team": TEAM}
    assert (line["kind"], line["id"], line["spec"]["owner"]) == ("schedule", report, ALICE)

    (tmp_path / "export.jsonl").write_text(json.dumps(heading))
    _, printed, _ = await bridge_says(system, tmp_path, "import", "export.jsonl")
    assert printed == "Set up: nothing.\n"
    (tmp_path / "export.jsonl").write_text(f'{json.dumps(heading)}\n{{"kind": "alert"}}\n')
    code, _, complaint = await bridge_says(system, tmp_path, "import", "export.jsonl")
    assert (code, complaint.splitlines()[1]) == (2, "Line 2: spec is missing")


async def test_the_check_shows_a_persons_permissions_and_reasons(system: System, tmp_path: Path) -> None:
    async def check(*words: str) -> tuple[int, str]:
        environ = system.bridges[0].environ
        code, output, stderr = await bridge_says(system, tmp_path, "check", "--json", "--access", *words, **environ)
        return code, output + stderr

    member, guest, named = await asyncio.gather(
        check(ALICE, GENERAL), check(GUEST, SHARED), check("@alice", "#general")
    )

    states = {row["what"]: row["state"] for row in json.loads(guest[1])["rows"]}
    assert (member[0], json.loads(member[1])["ok"]) == (0, True)
    assert guest[0] == 1
    assert states == {
        **dict.fromkeys(("person", "channel", "talk", "reply without a mention", "use commands"), "ok"),
        **dict.fromkeys(("run workflows", "schedule reports", "change channel settings"), "failure"),
    }
    assert named[0] == 2
    assert "isn't a member ID" in named[1]
    assert "fill these in" not in named[1]
