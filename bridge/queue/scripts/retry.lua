-- Queue a dead letter again, at the end of its lane; once per death, even if requested repeatedly. A recorded outcome is
-- posted without a new request. If the request may have arrived, it's deliberately sent again: as a new turn, because the
-- old turn's notices carry its id.
-- ARGV: turn, now (ms), waiting limit, id of a new turn, lifetime of the trace (ms).
-- Returns {'queued' | 'showing' | 'asking', turns waiting before it} | {'unknown'} | {'gone'} (its texts were deleted)
--         | {'full'}.
local turn, now, limit, new = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local key, dead = turn_key(turn), dead_key()
if not redis.call('ZSCORE', dead, turn) then return {'unknown'} end
local seen = redis.call('HMGET', key, 'step', 'lane', 'body', 'died', 'was', 'outcome', 'retries', 'v')
local lane, body, died, outcome = seen[2], seen[3], seen[4], seen[6]
if seen[1] ~= 'dead' or not lane or not body then
  redis.call('ZREM', dead, turn)
  return {'gone'}
end
local waiting = waiting_in(lane)
if waiting >= limit then return {'full'} end
redis.call('ZREM', dead, turn)

local how, queued = 'queued', turn
if died == 'sent' or (died == 'posting' and (seen[5] == 'unknown' or not outcome)) then
  how, queued = 'asking', new
  local copied = redis.call('HMGET', key, 'thread', 'kind', 'starts', 'searches')
  redis.call('HSET', turn_key(new), 'v', seen[8], 'lane', lane, 'step', 'queued', 'at', now, 'body', body,
    'thread', copied[1] or '', 'kind', copied[2] or '', 'of', turn)
  for i, name in ipairs({'starts', 'searches'}) do
    if copied[i + 2] then redis.call('HSET', turn_key(new), name, 1) end
  end
  redis.call('HSET', key, 'again', new)
  redis.call('HDEL', key, 'body', 'note', 'outcome')
  redis.call('PEXPIRE', key, ARGV[5])
else
  if died == 'posting' then
    how = 'showing'
    redis.call('HSET', key, 'step', 'posting', 'what', seen[5] or '')
  else
    redis.call('HDEL', key, 'what')
    redis.call('HSET', key, 'step', 'queued', 'at', now) -- a retry restarts its age
  end
  redis.call('HDEL', key, 'by', 't_done', 'died', 'was', 'ts') -- its place is at the end now
  redis.call('HSET', key, 'retries', (seen[7] and seen[7] .. '\n' or '') .. now)
  redis.call('PERSIST', key)
end
redis.call('RPUSH', box_key(lane), queued)
if redis.call('LLEN', box_key(lane)) == 1 then activate(lane) end
return {how, waiting}
