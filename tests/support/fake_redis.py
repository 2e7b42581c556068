"""A Redis in this process, with what the fake of it does not know."""

from __future__ import annotations

from typing import Any

from fakeredis import FakeAsyncRedis


class InProcessRedis(FakeAsyncRedis):  # type: ignore[misc] # made of a class that is not typed
    """Answers INFO as a server without replicas does."""

    async def info(self, *_sections: str) -> dict[str, Any]:
        return {"role": "master", "connected_slaves": 0}
