-- sent → queued: the request certainly didn't arrive, so the message waits again; or it may have arrived, and is repeated.
-- ARGV: entry, consumer, lane, turn, writes that undo those of `sent` (the prelude's `apply`), the limits that `sent`
--       counted, or '', and when it's repeated (ms), or ''. Returns 'ok' | 'lost'.
local entry, consumer, lane, turn = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
if redis.call('HGET', key, 'step') == 'sent' then
  redis.call('HSET', key, 'step', 'queued')
  if ARGV[7] ~= '' then redis.call('HSET', key, 'repeated', ARGV[7]) else redis.call('HINCRBY', key, 'unsent', 1) end
  apply(ARGV[5])
  give_back(key, ARGV[6] ~= '' and cjson.decode(ARGV[6]) or {})
end
return 'ok'
