-- sent → queued: the request certainly didn't arrive, so the message waits again; or it may have arrived, and is repeated.
-- ARGV: entry, consumer, lane, turn, and as JSON `writes` that undo those of `sent` (the prelude's `apply`) and the limits
--       that `sent` counted, or only when it's `repeated` (ms). Returns 'ok' | 'lost'.
local entry, consumer, lane, turn, a = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
if redis.call('HGET', key, 'step') == 'sent' then
  redis.call('HSET', key, 'step', 'queued')
  if a.repeated then redis.call('HSET', key, 'repeated', a.repeated) else redis.call('HINCRBY', key, 'unsent', 1) end
  apply(a.writes or {})
  give_back(key, a.limits or {})
end
return 'ok'
