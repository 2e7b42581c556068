"""Find Redis keys that would never expire."""

from __future__ import annotations

import re
from importlib import import_module

from redis.asyncio import Redis

# One script, because bridges may be running. Returns {keys without a lifetime, strays among them}: a turn that is in no
# box, a box that is neither parked nor has exactly one entry, and a parked lane whose head is another turn.
_FIND_KEYS = """
local without, strays = {}, {}

local function is_in(list, wanted)
  for _, one in ipairs(redis.call('LRANGE', list, 0, -1)) do if one == wanted then return true end end
  return false
end

local function entries_of(prefix, lane)
  local count = redis.call('HEXISTS', prefix .. 'parked', lane)
  if redis.call('EXISTS', prefix .. 'ready') == 0 then return count end
  for _, entry in ipairs(redis.call('XRANGE', prefix .. 'ready', '-', '+')) do
    if entry[2][2] == lane then count = count + 1 end
  end
  return count
end

local function parked_behind_others(key, prefix)
  for _, lane in ipairs(redis.call('HKEYS', key)) do
    if redis.call('LINDEX', prefix .. 'box:' .. lane, 0) ~= redis.call('HGET', key, lane) then return true end
  end
  return false
end

for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) == -1 then
    without[#without + 1] = key
    local prefix, kind, rest = string.match(key, '^({.-}:)(%a+):?(.*)$')
    local is_stray = false
    if kind == 'turn' then
      is_stray = not is_in(prefix .. 'box:' .. (redis.call('HGET', key, 'lane') or ''), rest)
    elseif kind == 'box' then
      is_stray = entries_of(prefix, rest) ~= 1
    elseif kind == 'parked' then
      is_stray = parked_behind_others(key, prefix)
    end
    if is_stray then strays[#strays + 1] = key end
  end
end
return {without, strays}
"""


async def keys_without_lifetime(redis: Redis) -> list[str]:
    """List the keys that never expire and that the store's table of keys doesn't allow to stay.

    A turn and a box may stay only while queued: the turn in its lane's box, and the box with exactly one entry in the
    ready stream, or parked.
    """
    without, strays = await redis.eval(_FIND_KEYS, 0)
    lasting = [key for key in import_module("bridge.queue.keys").TABLE if key.stays]
    permanent = [rf"\{{[^}}]+\}}:{key.begin}{'.+' if key.parts else ''}" for key in lasting]
    unknown = {key for key in without if not any(re.fullmatch(pattern, key) for pattern in permanent)}
    return sorted(unknown | set(strays))
