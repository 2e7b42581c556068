-- A message was edited: while it waits, the new text is what will be sent.
-- ARGV: message identity, body, nothing to decide ('1'). Returns 'edited' | 'late' | 'unknown'.
local turn = redis.call('GET', prefix .. 'seen:m:' .. ARGV[1])
if not turn then return 'unknown' end
local key = turn_of(turn)
local seen = redis.call('HMGET', key, 'step', 'kind')
if seen[1] ~= 'queued' then return 'late' end
if seen[2] ~= 'message' then return 'unknown' end -- it was refused, and a refusal is all that waits
redis.call('HSET', key, 'body', ARGV[2])
redis.call('HINCRBY', key, 'edits', 1)
if ARGV[3] == '1' and redis.call('HEXISTS', key, 'starts') == 0 then
  redis.call('HSET', key, 'plain', 1)
else
  redis.call('HDEL', key, 'plain')
end
return 'edited'
