-- sent → queued: the request certainly didn't arrive, so the message waits again.
-- ARGV: entry, consumer, lane, turn, now (ms), writes that undo those of `sent` (the prelude's `apply`),
--       the limits that `sent` counted, or ''. Returns 'ok' | 'lost'.
local entry, consumer, lane, turn, now = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
local seen = redis.call('HMGET', key, 'step', 'log')
if seen[1] == 'sent' then
  redis.call('HSET', key, 'step', 'queued', 'log', with_line(seen[2], now .. ' ' .. consumer .. ' unsent'))
  apply(ARGV[6])
  give_back(key, ARGV[7] ~= '' and cjson.decode(ARGV[7]) or {})
end
return 'ok'
