-- Read the head of a lane.
-- ARGV: entry, consumer, lane, and as JSON now (ms), whether this worker begins with it (else it looks again), and a token of
--       this take.
-- Returns {'lost'} | {'empty'} | {'newer', id}: written by a later version, left unchanged | {'turn', id, turn hash, thread
--         hash, how often the entry was delivered}.
local entry, consumer, lane, a = ARGV[1], ARGV[2], ARGV[3], cjson.decode(ARGV[4])
local is_ours, times_delivered = owns(entry, consumer, lane)
if not is_ours then return {'lost'} end
local id = redis.call('LINDEX', box_key(lane), 0)
if not id then
  retire(entry)
  return {'empty'}
end
local key = turn_key(id)
local seen = redis.call('HMGET', key, 'v', 'thread', 'log', 'takes', 'edits')
if tonumber(seen[1] or '0') > NEWEST then return {'newer', id} end
local conversation = redis.call('HGETALL', thread_key(seen[2] or ''))
redis.call('HSET', key, 'token', a.token)
if a.begins then
  local log = with_line(seen[3], a.now .. ' ' .. consumer .. ' took', REPEATED)
  redis.call('HSET', key, 'takes', (seen[4] or 0) + 1, 'log', log)
end
if seen[5] then redis.call('HDEL', key, 'edits') end -- they're in the text
return {'turn', id, redis.call('HGETALL', key), conversation, times_delivered}
