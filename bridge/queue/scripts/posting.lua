-- Record how far the post of an outcome is. A stop may end a waiting post, but not one being sent. A post by response_url
-- is marked beforehand, because it can't be looked for afterwards.
-- ARGV: entry, consumer, lane, turn, how, token of this take. How: 'starts' | 'starts by url' | 'waits' (isn't being
--       posted) | 'waits unsent' (and nothing went by url) | 'in doubt' (may have been posted).
-- Returns 'ok' | 'lost' | 'stopped' | 'changed' (a menu's message was withdrawn) | 'deleted' (only for its person) |
--         'again' (sent by url in an earlier take) | 'by url' (in doubt, and sent by url).
local entry, consumer, lane, turn, how, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
local seen, ends = redis.call('HMGET', key, 'step', 'out'), end_of(key)
local step, out = seen[1], seen[2]
if step ~= 'posting' and step ~= 'queued' then return 'lost' end
if is(ends, 'stopped') or (is(ends, 'deleted') and step == 'posting') then return 'stopped' end
if step == 'queued' then return ends and 'changed' or 'ok' end -- a menu, which a stop may end at any time
if how == 'in doubt' then
  redis.call('HSET', key, 'doubt', 1)
  return out and 'by url' or 'ok'
end
if how == 'waits' or how == 'waits unsent' then
  redis.call('HSET', key, 'waits', 1)
  if how == 'waits unsent' then redis.call('HDEL', key, 'out') end
  return 'ok'
end
if how == 'starts by url' then
  if out and out ~= token then return 'again' end
  redis.call('HSET', key, 'out', token)
end
redis.call('HDEL', key, 'waits')
return ends == 'private' and 'deleted' or 'ok'
