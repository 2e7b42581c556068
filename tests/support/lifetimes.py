"""Looks for keys that would stay in Redis for ever."""

from __future__ import annotations

import re
from collections.abc import Sequence

from redis.asyncio import Redis


async def keys_without_lifetime(redis: Redis, permanent: Sequence[str]) -> list[str]:
    """List the keys that neither expire nor match a pattern in *permanent*."""
    left = [key async for key in redis.scan_iter() if await redis.ttl(key) == -1]
    return sorted(key for key in left if not any(re.match(pattern, key) for pattern in permanent))
