"""The *bare* baseline: an empty Bolt app on the bridge's server, run as a program.

Its acknowledgements per second are the upper limit for any Bolt app.
"""

from __future__ import annotations

import os

import uvicorn
from slack_bolt.adapter.asgi.async_handler import AsyncSlackRequestHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

app = AsyncApp(
    client=AsyncWebClient(os.environ["SLACK_BOT_TOKEN"], base_url=os.environ["SLACK_API_URL"]),
    signing_secret=os.environ["SLACK_SIGNING_SECRET"],
)


@app.event("app_mention")
@app.event("message")
async def nothing() -> None:
    """Acknowledge an event and do nothing."""


if __name__ == "__main__":
    uvicorn.run(
        AsyncSlackRequestHandler(app),
        host="127.0.0.1",
        port=int(os.environ["BRIDGE_PORT"]),
        loop="uvloop",
        http="httptools",
        log_level="warning",
        access_log=False,
    )
