-- Let a report rest, and tell its owner why where there is something to tell: once, however many find it out.
-- ARGV: report, why, turn or '', lane, now (ms), body, a line for the trace. Returns 'paused' | 'before' | 'gone'.
local report, key = ARGV[1], report_key(ARGV[1])
if redis.call('EXISTS', key) == 0 then return 'gone' end
if redis.call('HEXISTS', key, 'paused') == 1 then return 'before' end
redis.call('HSET', key, 'paused', ARGV[2])
redis.call('ZREM', due_key(), report)
if ARGV[3] ~= '' then queue_our_own(ARGV[3], ARGV[4], ARGV[5], ARGV[6], 'notice', ARGV[7]) end
return 'paused'
