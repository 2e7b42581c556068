"""An in-process Redis, with what fakeredis lacks."""

from __future__ import annotations

from typing import Any

from fakeredis import FakeAsyncRedis


class InProcessRedis(FakeAsyncRedis):
    """Answer INFO like a server without replicas."""

    async def info(self, section: str | None = None, *_more: str, **_options: Any) -> dict[str, Any]:  # noqa: ARG002
        return {"role": "master", "connected_slaves": 0}
