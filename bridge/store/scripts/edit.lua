-- A message was edited: while it waits, the new text is what will be sent. If an agent has got the earlier one, the new
-- text is kept beside the turn, for as long as that lives, so that a button can ask with it (`ask_edited`).
-- ARGV: message identity, body, nothing to decide ('1'). Returns 'edited' | 'asked' | 'late' | 'unknown'.
local turn = redis.call('GET', prefix .. 'seen:m:' .. ARGV[1])
if not turn then return 'unknown' end
local key = turn_of(turn)
local seen = redis.call('HMGET', key, 'step', 'kind', 't_sent', 'lane')
if seen[1] ~= 'queued' then
  -- A command has a lane of its own, and is not begun anew by being changed.
  local is_chat = seen[1] and seen[2] == 'message' and seen[3] and string.sub(seen[4] or '', 1, 2) == 't:'
  if not is_chat then return 'late' end
  redis.call('HSET', key, 'edited', ARGV[2], 'edited_plain', ARGV[3])
  return 'asked'
end
if seen[2] ~= 'message' then return 'unknown' end -- it was refused, and a refusal is all that waits
redis.call('HSET', key, 'body', ARGV[2])
redis.call('HINCRBY', key, 'edits', 1)
if ARGV[3] == '1' and redis.call('HEXISTS', key, 'starts') == 0 then
  redis.call('HSET', key, 'plain', 1)
else
  redis.call('HDEL', key, 'plain')
end
return 'edited'
