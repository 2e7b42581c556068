-- Mark a waiting message for its ⏳ reaction, once; not the head of a lane, which is running or about to run.
-- ARGV: turn. Returns 'ok' | 'no'.
local key = turn_key(ARGV[1])
local seen = redis.call('HMGET', key, 'step', 'lane', 'queued_reaction', 'withdrawn')
if seen[1] ~= 'queued' or seen[3] or seen[4] then return 'no' end
if redis.call('LINDEX', box_key(seen[2]), 0) == ARGV[1] then return 'no' end
redis.call('HSET', key, 'queued_reaction', 1)
return 'ok'
