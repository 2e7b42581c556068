-- sent → queued: the request certainly didn't arrive, so the message waits again.
-- ARGV: entry, consumer, lane, turn, writes that undo those of `sent` (the prelude's `apply`),
--       the limits that `sent` counted, or ''. Returns 'ok' | 'lost'.
local entry, consumer, lane, turn = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
if redis.call('HGET', key, 'step') == 'sent' then
  redis.call('HSET', key, 'step', 'queued')
  redis.call('HINCRBY', key, 'unsent', 1)
  apply(ARGV[5])
  local window = string.gmatch(redis.call('HGET', key, 'counted') or '', '%S+')
  for _, limit in ipairs(ARGV[6] ~= '' and cjson.decode(ARGV[6]) or {}) do -- a window that has begun since isn't touched
    local counter = used_key(limit[1])
    if redis.call('HGET', counter, 'since') == window() then redis.call('HINCRBY', counter, 'n', -limit[4]) end
  end
end
redis.call('HDEL', key, 'by')
return 'ok'
