-- Store the message that shows a turn's progress, so that it's updated instead of posted again.
-- ARGV: entry, consumer, lane, turn, identity of that message (its ts is the last part), lifetime of the trace (ms).
-- Returns 'ok' | 'lost'.
if not owns(ARGV[1], ARGV[2], ARGV[3], ARGV[4]) then return 'lost' end
redis.call('HSET', turn_key(ARGV[4]), 'card', string.match(ARGV[5], '[^:]*$'))
redis.call('SET', shown_key(ARGV[5]), ARGV[4], 'PX', ARGV[6])
return 'ok'
