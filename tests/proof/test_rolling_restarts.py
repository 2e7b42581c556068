"""Two replicas are restarted and killed in turn while people ask an agent that only reads."""

from __future__ import annotations

import signal
from pathlib import Path

from bridge.playground.emulator.sample import ALICE, GENERAL
from bridge.playground.sample_project.answers import Proper
from support.kill_runs import end_leases
from support.system import BridgeProcess, System, text_of
from support.waiting import wait_until

CHAT = "/api/sdk/agents/1/chat"
ROUNDS = 4
AT_ONCE = 4


async def test_no_answer_is_lost_or_doubled_and_nobody_is_asked(system: System, tmp_path: Path) -> None:
    file = tmp_path / "bridge.toml"
    file.write_text('[projects.default]\nrepeat = ["1"]\n', encoding="utf-8")
    environ = {"BRIDGE_CONFIG": str(file), "BRIDGE_DEFAULT_AGENT": "1", "BRIDGE_DRAIN_SECONDS": ""}

    async def started() -> BridgeProcess:
        return await system.bridge(**environ).start()

    replicas = [await started(), await started()]
    for replica in replicas:
        await replica.ready()
    system.project.on("POST", CHAT, Proper(delay=0.4))
    roots: list[str] = []

    for number in range(ROUNDS):
        leaving, staying = replicas
        system.slack.events_url = f"{leaving.url}/slack/events"
        asked = len(system.chats())
        roots += [await system.mention(ALICE, GENERAL, f"question {number}.{at}") for at in range(AT_ONCE)]
        await wait_until(lambda so_far=asked: len(system.chats()) > so_far, "an agent is asked")  # type: ignore[misc]
        system.slack.events_url = f"{staying.url}/slack/events"
        roots.append(await system.mention(ALICE, GENERAL, f"question {number}, to the other one"))
        leaving.send_signal(signal.SIGTERM if number % 2 else signal.SIGKILL)
        await leaving.wait()
        await end_leases(system)
        replicas = [staying, await (await started()).ready()]
    await wait_until(lambda: all(system.answers(GENERAL, root) for root in roots), "all are answered", 60.0)
    await wait_until(system.is_at_rest, "nothing is queued", 60.0)

    answers = {root: [text_of(message) for message in system.answers(GENERAL, root)] for root in roots}
    assert {len(texts) for texts in answers.values()} == {1}
    assert [texts for texts in answers.values() if "can't tell" in str(texts)] == []
    assert any("I asked again" in str(texts) for texts in answers.values())
    assert all(code == 0 for code in [await replica.wait() for replica in system.bridges if replica.has_ended][1::2])
