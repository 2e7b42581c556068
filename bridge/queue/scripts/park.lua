-- Park a lane until someone chooses an agent: until then the lane has work but no entry.
-- ARGV: entry, consumer, lane, turn, thread, thread lifetime (ms). Returns 'ok' | 'lost' | 'chosen' (already: continue).
local entry, consumer, lane, turn, thread = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if not owns(entry, consumer, lane, turn) then return 'lost' end
if redis.call('HEXISTS', thread_key(thread), 'agent') == 1 then return 'chosen' end
if end_of(turn_key(turn)) then return 'chosen' end
park(lane, turn, ARGV[6])
retire(entry)
return 'ok'
