-- Remember the message that shows a turn's progress, so that it is brought up to date instead of posted anew.
-- ARGV: entry, consumer, lane, turn, ts. Returns 'ok' | 'lost'.
if not owns(ARGV[1], ARGV[2], ARGV[3], ARGV[4]) then return 'lost' end
redis.call('HSET', turn_of(ARGV[4]), 'card', ARGV[5])
return 'ok'
