-- Claim a slot: have the report due at its next one, and queue the turn that posts it, or neither.
-- ARGV: report, the slot that it is due at (ms), the next one (ms), the first slot that is skipped (ms) or '',
--       turn or '' (all are skipped), lane, identity of the slot, lifetime of its mark (ms), now (ms), body, a line
--       for the trace.
-- Returns 'queued' | 'skipped' | 'taken' (by another process, or the report is paused or gone).
local report, due = ARGV[1], due_key()
if tonumber(redis.call('ZSCORE', due, report) or '') ~= tonumber(ARGV[2]) then return 'taken' end
redis.call('ZADD', due, ARGV[3], report)
redis.call('HSET', report_key(report), 'due', ARGV[3])
if ARGV[4] ~= '' then redis.call('HSETNX', report_key(report), 'skipped', ARGV[4]) end
if ARGV[5] == '' then return 'skipped' end
local mark = seen_event_key(ARGV[7])
if redis.call('EXISTS', mark) == 1 then return 'taken' end
redis.call('SET', mark, ARGV[5], 'PX', ARGV[8])
queue_our_own(ARGV[5], ARGV[6], ARGV[9], ARGV[10], 'report', ARGV[11])
return 'queued'
