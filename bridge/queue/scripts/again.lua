-- Queue the text of a finished turn again, at the end of its lane; once per turn, even if clicked repeatedly. The button
-- exists from the post on, so this may run before `finish`. A dead letter is then off the list; after an operator's
-- retry, its button does nothing.
-- ARGV: old turn, new turn, waiting limit, now (ms), the click's own turn, who clicked. Returns {'queued'}, as often as that turn asks
--       | {'already'} | {'gone'} | {'full'}.
local old, new, limit, now = turn_key(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4]
local seen = redis.call('HMGET', old, 'body', 'lane', 'thread', 'again', 'step', 'starts', 'stopped', 'retries', 'kind', 'again_by')
local body, lane, step = seen[1], seen[2], seen[5]
if seen[4] and seen[10] == ARGV[5] then return {'queued'} end
if seen[4] or (seen[8] and step ~= 'dead') then return {'already'} end
if not body or (step ~= 'done' and step ~= 'posting' and step ~= 'dead' and not seen[7]) then return {'gone'} end
if waiting_in(lane) >= limit then return {'full'} end
redis.call('HSET', old, 'again', new, 'again_by', ARGV[5])
if step == 'dead' then redis.call('ZREM', dead_key(), ARGV[1]) end
if step == 'done' or step == 'dead' then redis.call('HDEL', old, 'body') end -- else `finish` needs it, and deletes it
redis.call('HSET', turn_key(new), 'v', VERSION, 'lane', lane, 'step', 'queued', 'at', now, 'body', body,
  'thread', seen[3] or '', 'kind', seen[9] or 'message', 'of', ARGV[1],
  'pressed_by', ARGV[6])
if seen[6] then redis.call('HSET', turn_key(new), 'starts', 1) end
redis.call('RPUSH', box_key(lane), new)
if redis.call('LLEN', box_key(lane)) == 1 then activate(lane) else resume(lane) end
return {'queued'}
