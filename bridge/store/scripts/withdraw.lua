-- A message was deleted: while it waits, it is marked, and done with as soon as it is the head.
-- ARGV: message identity. Returns 'withdrawn' | 'late' | 'unknown'.
local turn = redis.call('GET', prefix .. 'seen:m:' .. ARGV[1])
if not turn then return 'unknown' end
local key = turn_of(turn)
local seen = redis.call('HMGET', key, 'step', 'lane')
if seen[1] ~= 'queued' then return 'late' end
redis.call('HSET', key, 'withdrawn', 1)
if redis.call('HGET', prefix .. 'parked', seen[2]) == turn then unpark(seen[2]) end
return 'withdrawn'
