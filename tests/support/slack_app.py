"""A small app on a real socket for the emulated Slack."""

import json
import urllib.parse
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import SignatureVerifier
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from bridge.playground.local_server import LocalServer

SECRET = "a-signing-secret"
TOKEN = "xoxb-a-token"


def plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text}


def form(*blocks: dict[str, Any], title: str = "Run", **more: Any) -> dict[str, Any]:
    """A modal with *blocks*."""
    return {"type": "modal", "title": plain(title), "submit": plain("Run"), "blocks": list(blocks), **more}


def field_of(name: str, element: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """An input block: plain text unless another *element* is given."""
    element = element or {"type": "plain_text_input", "action_id": "text"}
    return {"type": "input", "block_id": name, "label": plain(name.title()), "element": element, **more}


async def refusal(call: Awaitable[Any]) -> dict[str, Any]:
    """The error of a call that Slack refuses."""
    with pytest.raises(SlackApiError) as caught:
        await call
    data: dict[str, Any] = caught.value.response.data
    return data


@dataclass
class Received:
    payload: dict[str, Any]
    headers: dict[str, str]
    is_signed: bool


@dataclass
class App:
    """Records what it receives; responds with *answers* in turn, then an empty 200."""

    received: list[Received] = field(default_factory=list)
    answers: list[ASGIApp] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.server = LocalServer(Starlette(routes=[Route("/slack/events", self.take, methods=["POST"])]))

    @property
    def url(self) -> str:
        return f"{self.server.url}/slack/events"

    @property
    def events(self) -> list[dict[str, Any]]:
        return [one.payload["event"] for one in self.received if "event" in one.payload]

    async def take(self, request: Request) -> ASGIApp:
        body = await request.body()
        signed = SignatureVerifier(SECRET).is_valid_request(body, dict(request.headers))
        self.received.append(Received(_read(request, body), dict(request.headers), signed))
        return self.answers.pop(0) if self.answers else PlainTextResponse("")


def _read(request: Request, body: bytes) -> dict[str, Any]:
    if request.headers["content-type"] == "application/json":
        return dict(json.loads(body))
    form = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))
    return dict(json.loads(form["payload"])) if "payload" in form else dict(form)
