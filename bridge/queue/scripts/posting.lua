-- How the post of a recorded outcome stands. A stop may end one that waits, and never one that is on its way; and what
-- goes by response_url is marked before, because nobody can look for it afterwards.
-- ARGV: entry, consumer, lane, turn, how, token of this take. How: 'goes' | 'goes by url' | 'waits' (nobody posts it
--       now) | 'waits unsent' (and nothing went by url) | 'in doubt' (nobody can tell whether it is there).
-- Returns 'ok' | 'lost' | 'stopped' | 'again' (it went by url in an earlier take) | 'by url' (it is in doubt, and did).
local entry, consumer, lane, turn, how, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
local seen = redis.call('HMGET', key, 'step', 'stopped', 'out')
local step, stopped, out = seen[1], seen[2], seen[3]
if step ~= 'posting' and step ~= 'queued' then return 'lost' end
if stopped then return 'stopped' end
if step == 'queued' then return 'ok' end -- a menu, which a stop may end at any time
if how == 'in doubt' then
  redis.call('HSET', key, 'doubt', 1)
  return out and 'by url' or 'ok'
end
if how == 'waits' or how == 'waits unsent' then
  redis.call('HSET', key, 'waits', 1)
  if how == 'waits unsent' then redis.call('HDEL', key, 'out') end
  return 'ok'
end
if how == 'goes by url' then
  if out and out ~= token then return 'again' end
  redis.call('HSET', key, 'out', token)
end
redis.call('HDEL', key, 'waits')
return 'ok'
