"""Windows on the page: what one person sees and does, over HTTP."""

from __future__ import annotations

from typing import Any

import httpx

from bridge.playground.page.supervisor import PartStatus, StoredTrace, Switch
from support.slack_app import TOKEN

Json = dict[str, Any]


class FakeSupervisor:
    """A fake of the playground's supervisor: parts, faults, commands and traces for a page."""

    def __init__(self) -> None:
        self.redis_is_up = True
        self.records: dict[str, StoredTrace] = {}
        self.asked: list[str] = []
        self.features: Json = {
            "slash_commands": [
                {"command": "/workflows", "usage_hint": "list | show WORKFLOW", "description": "The workflows"}
            ],
            "shortcuts": [
                {"callback_id": "send_again", "name": "Send again", "description": "", "type": "message"},
                {"callback_id": "run", "name": "Run", "description": "", "type": "global"},
            ],
            "agent_view": {"suggested_prompts": [{"title": "Begin", "message": "What can you do?"}]},
        }

    def parts(self) -> list[PartStatus]:
        return [PartStatus("Redis", is_stand_in=True, is_up=self.redis_is_up, detail="embedded")]

    def faults(self) -> list[Switch]:
        return [Switch("redis_stopped", "Redis", "Redis stopped", "Later.", self.stop, not self.redis_is_up)]

    async def stop(self, is_on: bool) -> None:  # noqa: FBT001 - a switch has two states
        self.redis_is_up = not is_on

    async def trace(self, permalink: str) -> StoredTrace:
        self.asked.append(permalink)
        return self.records.get(permalink, StoredTrace())


class Window:
    """One person's browser window."""

    def __init__(self, http: httpx.AsyncClient, who: str) -> None:
        self.http = http
        self.who = who

    async def sees(self, channel: str = "", thread: str = "", **more: str) -> Json:
        asked = {"as": self.who, "channel": channel, "thread": thread, **more}
        answer = await self.http.get("/page/state", params=asked)
        answer.raise_for_status()
        return dict(answer.json())

    async def shows(self, channel: str) -> list[str]:
        return [one["html"] for one in (await self.sees(channel))["messages"]]

    async def tries(self, action: str, **body: Any) -> Json:
        answer = await self.http.post(f"/page/do/{action}", params={"as": self.who}, json=body)
        return dict(answer.json())

    async def does(self, action: str, **body: Any) -> Json:
        done = await self.tries(action, **body)
        assert done["ok"], done
        return done

    async def wires(self, channel: str, ts: str) -> list[Json]:
        answer = await self.http.get("/page/wires", params={"as": self.who, "channel": channel, "ts": ts})
        answer.raise_for_status()
        return list(answer.json()["steps"])


async def calls(http: httpx.AsyncClient, method: str, **args: Any) -> Json:
    """Call a Slack method as the app; return the response."""
    answer = await http.post(f"/api/{method}", json=args, headers={"Authorization": f"Bearer {TOKEN}"})
    data: Json = answer.json()
    assert data["ok"], data
    return data
