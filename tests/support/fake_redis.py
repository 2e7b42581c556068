"""A Redis in this process, with what the fake of it does not know."""

from __future__ import annotations

from typing import Any

from fakeredis import FakeAsyncRedis


class InProcessRedis(FakeAsyncRedis):
    """Answers INFO as a server without replicas does."""

    async def info(self, section: str | None = None, *_more: str, **_options: Any) -> dict[str, Any]:  # noqa: ARG002
        return {"role": "master", "connected_slaves": 0}
