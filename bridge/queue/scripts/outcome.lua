-- queued or sent → posting: record the outcome to show, together with its writes. The agent isn't called again.
-- ARGV: entry, consumer, lane, turn, now (ms), outcome, its name, writes (the prelude's `apply`), edits the worker knows.
-- Returns 'ok' | 'lost' | 'changed' (edited, withdrawn or discarded since the turn was taken, and nothing was sent: look again) |
--         'stopped' (recorded, but the turn was stopped: don't show it) | 'deleted' (recorded, and only for its person).
local entry, consumer, lane, turn, now = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
local seen = redis.call('HMGET', key, 'step', 'stopped', 'withdrawn', 'edits', 'discarded', 'deleted')
local step, written = seen[1], seen[2] and 'stopped' or seen[6] and 'deleted' or 'ok'
if step == 'posting' then return written end -- already written; its answer was lost
if step ~= 'queued' and step ~= 'sent' then return 'lost' end
local has_changed = seen[3] or (seen[4] or '0') ~= ARGV[9] or (seen[5] and ARGV[7] ~= 'discarded')
if step == 'queued' and has_changed then return 'changed' end
redis.call('HSET', key, 'step', 'posting', 't_outcome', now, 'outcome', ARGV[6], 'what', ARGV[7])
if not (seen[2] and seen[6] == 'thread') then apply(ARGV[8]) end -- that thread has no conversation any more
return written
