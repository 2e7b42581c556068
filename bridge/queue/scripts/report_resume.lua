-- Let a report be due again; what it missed meanwhile was not missed by accident.
-- ARGV: report, due (ms). Returns 'resumed' | 'before' (it was not paused) | 'gone'.
local report, key = ARGV[1], report_key(ARGV[1])
if redis.call('EXISTS', key) == 0 then return 'gone' end
if redis.call('HEXISTS', key, 'paused') == 0 then return 'before' end
redis.call('HDEL', key, 'paused', 'skipped')
redis.call('HSET', key, 'due', ARGV[2])
redis.call('ZADD', due_key(), ARGV[2], report)
return 'resumed'
