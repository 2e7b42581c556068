-- The head waits for somebody to choose an agent: the lane has work and no entry until then.
-- ARGV: entry, consumer, lane, turn, thread. Returns 'ok' | 'lost' | 'chosen' (meanwhile: go on).
local entry, consumer, lane, turn, thread = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if not owns(entry, consumer, lane, turn) then return 'lost' end
if redis.call('HEXISTS', thread_key(thread), 'agent') == 1 then return 'chosen' end
if redis.call('HEXISTS', turn_key(turn), 'withdrawn') == 1 then return 'chosen' end
redis.call('HSET', parked_key(), lane, turn)
retire(entry)
return 'ok'
