-- Read the head of a lane. Where nothing is left to decide (a plain reply in a thread that has its agent), SENT
-- is written in the same step, which saves a round trip.
-- ARGV: entry, consumer, lane, now (ms), token of this take, may send ('1'), oldest 'at' that may be sent (ms),
--       begins ('1': the first look of this worker, '0': it has waited and looks again),
--       the newest version of a record that the caller can read.
-- Returns {'lost'} | {'empty'} | {'newer', id}: left as it is | {'turn', id, turn hash, thread hash, '1' if SENT was written by this take,
--          how often the entry was handed out, the agent that answers by default in the thread's channel or ''}.
local entry, consumer, lane, now, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local is_ours, handed_out = owns(entry, consumer, lane)
if not is_ours then return {'lost'} end
local id = redis.call('LINDEX', box_of(lane), 0)
if not id then
  retire(entry)
  return {'empty'}
end
local key = turn_of(id)
if tonumber(redis.call('HGET', key, 'v') or '0') > tonumber(ARGV[9]) then return {'newer', id} end
local seen = redis.call('HMGET', key, 'step', 'by', 'plain', 'withdrawn', 'at', 'thread', 'process')
local step, by, plain, withdrawn, at = seen[1], seen[2], seen[3], seen[4], tonumber(seen[5] or '0')
local conversation = prefix .. 'thread:' .. (seen[6] or '')
local fresh = step == 'sent' and by == token -- this take's own answer was lost on the way, and it asks again
if step == 'queued' and plain and not withdrawn and ARGV[6] == '1' and at >= tonumber(ARGV[7])
   and redis.call('HEXISTS', conversation, 'agent') == 1 then
  redis.call('HSET', key, 'step', 'sent', 't_sent', now, 'by', token)
  fresh = true
end
if ARGV[8] == '1' then
  redis.call('HINCRBY', key, 'takes', 1)
  local earlier = seen[7] and #seen[7] < 2000 and seen[7] .. '\n' or ''
  redis.call('HSET', key, 'process', earlier .. now .. ' ' .. consumer) -- a line for each take, for the trace
end
local default = redis.call('HGET', prefix .. 'defaults', string.match(seen[6] or '', '^(.*):') or '') or ''
return {'turn', id, redis.call('HGETALL', key), redis.call('HGETALL', conversation), fresh and '1' or '0', handed_out, default}
