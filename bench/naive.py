"""The *naive* baseline: an obvious implementation with every library's defaults, run as a program.

It uses Bolt's ASGI adapter on uvicorn, one httpx client and one redis-py client, without a queue, a journal or
deduplication: look up the thread's session, ask the agent, save the session, post the answer.
"""

from __future__ import annotations

import os
import re
from typing import Any

import httpx
import uvicorn
from redis.asyncio import Redis
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp, AsyncSay
from slack_sdk.web.async_client import AsyncWebClient

AGENT = 1

app = AsyncApp(
    client=AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["SLACK_API_URL"]),
    signing_secret=os.environ["SLACK_SIGNING_SECRET"],
)
redis = Redis.from_url(os.environ["REDIS_URL"], decode_responses=True)
project = httpx.AsyncClient(
    base_url=os.environ["PROJECT_BASE_URL"], headers={"Authorization": f"Bearer {os.environ['PROJECT_API_KEY']}"}
)


@app.event("app_mention")
async def on_mention(event: dict[str, Any], say: AsyncSay) -> None:
    """Start or continue a conversation on a mention."""
    thread = event.get("thread_ts") or event["ts"]
    await answer(thread, event["text"], await redis.get(f"naive:{thread}"), say)


@app.event("message")
async def on_message(event: dict[str, Any], say: AsyncSay) -> None:
    """Continue an existing conversation."""
    thread = event.get("thread_ts")
    if thread is None or event.get("bot_id") or event.get("subtype"):
        return
    session = await redis.get(f"naive:{thread}")
    if session is not None:
        await answer(thread, event["text"], session, say)


async def answer(thread: str, text: str, session: str | bytes | None, say: AsyncSay) -> None:
    """Ask the agent, save the session and post the answer."""
    body: dict[str, Any] = {"message": re.sub(r"<@\w+>\s*", "", text)}
    if session is not None:
        body["sessionId"] = int(session)
    response = await project.post(f"/api/sdk/agents/{AGENT}/chat", json=body)
    response.raise_for_status()
    chat = response.json()
    await redis.set(f"naive:{thread}", chat["sessionId"], ex=90 * 86400)
    await say(text=chat["message"], thread_ts=thread)


if __name__ == "__main__":
    uvicorn.run(
        AsyncSlackRequestHandler(app),
        host="127.0.0.1",
        port=int(os.environ["BRIDGE_PORT"]),
        log_level="warning",
    )
