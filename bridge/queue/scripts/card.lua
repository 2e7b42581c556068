-- Store the message that shows a turn's progress, so that it's updated instead of posted again.
-- ARGV: entry, consumer, lane, turn, identity of that message (its ts is the last part), lifetime of the trace (ms),
--       the turn's person.
-- Returns 'ok' | 'lost'.
if not owns(ARGV[1], ARGV[2], ARGV[3], ARGV[4]) then return 'lost' end
redis.call('HSET', turn_key(ARGV[4]), 'card', string.match(ARGV[5], '[^:]*$'))
show(ARGV[5], ARGV[4], ARGV[7], ARGV[6])
return 'ok'
