-- Queue the new text of a message that was edited after an agent received it, at the end of its lane; once per edit, even
-- if clicked or delivered repeatedly. From then on the message belongs to the new turn, and can be edited and withdrawn while that
-- waits.
-- ARGV: message identity, new turn, waiting limit, now (ms), lifetime of the message's mark (ms), the click's own turn or
--       what else it's queued by, what it counts for as JSON or '', who clicked.
-- Returns 'queued', as often as that turn asks | 'already' | 'gone' | 'full' | 'paused', and the facts of `put.lua`.
local mark, new, limit, now = seen_message_key(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4]
local turn = redis.call('GET', mark)
if not turn then return {'gone'} end
local old = turn_key(turn)
local seen = redis.call('HMGET', old, 'edited', 'lane', 'thread', 'of_edit', 'edited_version')
local body, lane = seen[1], seen[2]
if not body then return {seen[4] == ARGV[6] and 'queued' or seen[4] and 'already' or 'gone'} end
if waiting_in(lane) >= limit then return {'full'} end
local limits = ARGV[7] ~= '' and cjson.decode(ARGV[7]) or {}
local project = #limits > 0 and redis.call('HGET', thread_key(seen[3] or ''), 'project') or ''
for _, one in ipairs(limits) do one[1] = one[5] and project ~= '' and one[1] .. ':' .. project or one[1] end
local number, counter = used_up(limits)
if number then return {'paused', number, redis.call('PTTL', counter), redis.call('HSETNX', counter, 'told', 1)} end
count(limits, new)
redis.call('HDEL', old, 'edited', 'edited_version')
redis.call('HSET', turn_key(new), 'v', VERSION, 'lane', lane, 'step', 'queued', 'at', now, 'body', body,
  'thread', seen[3] or '', 'kind', 'message', 'of', turn, 'of_edit', ARGV[6], 'version', seen[5] or '',
  'pressed_by', ARGV[8] or '')
redis.call('SET', mark, new, 'PX', ARGV[5])
if redis.call('RPUSH', box_key(lane), new) == 1 then activate(lane) else resume(lane) end
return {'queued'}
