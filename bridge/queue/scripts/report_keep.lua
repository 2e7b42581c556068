-- Keep a report, once for each id, and have it due.
-- ARGV: report, its JSON, due (ms), now (ms), how many may be kept. Returns 'kept' | 'full'.
local key, all = report_key(ARGV[1]), reports_key()
if redis.call('EXISTS', key) == 1 then return 'kept' end
if redis.call('ZCARD', all) >= tonumber(ARGV[5]) then return 'full' end
redis.call('HSET', key, 'v', 1, 'body', ARGV[2], 'due', ARGV[3])
redis.call('ZADD', all, ARGV[4], ARGV[1])
redis.call('ZADD', due_key(), ARGV[3], ARGV[1])
return 'kept'
