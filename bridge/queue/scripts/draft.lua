-- Put a draft, once: at the end of its lane, mostly as a new turn, as the notices about the old one carry its id. A draft
-- is a hash with a body and its lane: the record of a turn that ended (its button exists from the post on, so this may run
-- before `finish`), or the new text of a message that an agent has got. From then on, that message belongs to the new turn,
-- and can be edited and withdrawn while that waits. A dead letter that an operator retries takes its place again itself,
-- unless its request may have arrived; a recorded outcome is posted without a new request.
-- ARGV: the facts as JSON (`bridge.queue.drafts`).
-- Returns {'queued' | 'showing' | 'asking', turn, turns waiting before it}, as often as what it's put by asks | {'already'}
--         | {'gone'} | {'unbound'} | {'muted'} | {'full'} | {'unknown'} (no such dead letter)
--         | {'paused', and the facts of `put.lua`}.
local a = cjson.decode(ARGV[1])
local message = string.find(a.draft, ':', 1, true) and a.draft
local key, new = message and draft_key(a.draft) or turn_key(a.draft), turn_key(a.turn)
local seen = by_field(redis.call('HGETALL', key))
if message then -- an earlier release, which may still run, stores it with the turn that has the earlier text
  local of = redis.call('GET', seen_message_key(message)) or ''
  local old = redis.call('HMGET', turn_key(of), 'edited', 'lane', 'thread', 'edited_version')
  if old[1] and (tonumber(old[4] or '') or 0) >= (tonumber(seen.version or '') or 0) then
    seen = {body = old[1], lane = old[2], thread = old[3], version = old[4], of = of}
  end
  redis.call('HDEL', turn_key(of), 'edited')
end
local lane, step = seen.lane, seen.step or 'done'
local is_dead, is_over = step == 'dead', step == 'dead' or step == 'done'
if a.is_retry and not redis.call('ZSCORE', dead_key(), a.draft) then return {'unknown'} end
if seen.again and not a.is_retry then
  return seen.again_by == a.by and {'queued', seen.again, 0} or {'already'}
end
if seen.retries and not is_dead then return {'already'} end -- after an operator's retry, its button does nothing
if not seen.body or not lane or not (is_over or step == 'posting' or is(end_of(key), 'stopped')) then
  if a.is_retry then redis.call('ZREM', dead_key(), a.draft) end
  return {'gone'}
end
if not a.is_retry and (seen.kind or 'message') == 'message' and is(lane, 't:') then -- as for a new message
  local talk = redis.call('HMGET', thread_key(seen.thread), 'v', 'muted')
  if not talk[1] and not seen.searches then return {'unbound'} end
  if talk[2] then return {'muted'} end
end
local waiting = waiting_in(lane)
if waiting >= a.limit then return {'full'} end
local limits = of_project(a.limits or {}, redis.call('HGET', thread_key(seen.thread or ''), 'project') or '')
local number, counter = used_up(limits)
if number then return {'paused', number, redis.call('PTTL', counter), redis.call('HSETNX', counter, 'told', 1)} end
count(limits, a.turn)
if is_dead then redis.call('ZREM', dead_key(), a.draft) end

local how, turn = 'queued', a.turn
local has_arrived = seen.died == 'sent' or (seen.died == 'posting' and (seen.was == 'unknown' or not seen.outcome))
if a.is_retry and not has_arrived then
  turn = a.draft
  if seen.died == 'posting' then
    how = 'showing'
    redis.call('HSET', key, 'step', 'posting', 'what', seen.was or '')
  else
    redis.call('HDEL', key, 'what')
    redis.call('HSET', key, 'step', 'queued', 'at', a.now) -- a retry restarts its age
  end
  redis.call('HDEL', key, 'token', 't_done', 'died', 'was', 'ts') -- its place is at the end now
  redis.call('HSET', key, 'retries', with_line(seen.retries, a.now))
  redis.call('PERSIST', key)
else
  how = a.is_retry and 'asking' or 'queued'
  redis.call('HSET', new, 'v', seen.v or VERSION, 'lane', lane, 'step', 'queued', 'at', a.now, 'body', seen.body,
    'thread', seen.thread or '', 'kind', seen.kind or 'message', 'of', message and seen.of or a.draft,
    'pressed_by', a.user or '')
  for _, name in ipairs({'starts', 'searches'}) do if seen[name] then redis.call('HSET', new, name, 1) end end
  redis.call('HSET', key, 'again', a.turn, 'again_by', a.by)
  if is_over then redis.call('HDEL', key, 'body', 'note') end -- else `finish` needs it, and deletes it
  if a.is_retry then redis.call('HDEL', key, 'outcome') end
  if message or is_dead then redis.call('PEXPIRE', key, a.trace_ms) end
  if message then
    redis.call('HSET', new, 'version', seen.version or '')
    redis.call('SET', seen_message_key(message), a.turn, 'PX', a.marked_ms)
  end
end
redis.call('RPUSH', box_key(lane), turn)
if redis.call('LLEN', box_key(lane)) == 1 then activate(lane) elseif not a.is_retry then resume(lane) end
return {how, turn, waiting}
