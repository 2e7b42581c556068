-- Give the lane back unfinished, so that another worker takes it at once.
-- ARGV: entry, consumer, lane. Returns 'ok' | 'lost'.
if not owns(ARGV[1], ARGV[2], ARGV[3]) then return 'lost' end
retire(ARGV[1])
if redis.call('LLEN', box_key(ARGV[3])) > 0 then activate(ARGV[3]) end
return 'ok'
