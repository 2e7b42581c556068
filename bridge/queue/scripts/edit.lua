-- Store the new text of an edited message. If the message is waiting, the new text will be sent, or nothing if it was
-- found not to be for an agent. If an agent already has the earlier text, the new one is stored as a draft
-- (`bridge.queue.drafts`). An edit that arrives late or twice changes nothing. If the message isn't a turn yet, nothing is
-- stored: the edit may become that turn (`put`). Only if its new text isn't for an agent are the earlier ones void, so
-- that nothing is lost without a decision.
-- ARGV: the facts as JSON (`Inbox.edit`), the new body.
-- Returns 'edited' | 'asked' | 'late' | 'known' | 'unknown'.
local a, body = cjson.decode(ARGV[1]), ARGV[2]
local mark, draft, version = seen_message_key(a.message), draft_key(a.message), tonumber(a.version) or 0
local turn = redis.call('GET', mark)
local since = voids(turn)
if since and (version < since or since == math.huge) then return 'late' end
if not turn or since then
  local earlier = redis.call('GET', unsent_key(a.message)) -- as an earlier release stored a reply
  if earlier then
    redis.call('DEL', unsent_key(a.message))
    redis.call('HSET', draft, 'body', earlier, 'version', cjson.decode(earlier).edited_ts or '')
    redis.call('PEXPIRE', draft, a.trace_ms)
  end
  local reply = redis.call('HMGET', draft, 'body', 'version') -- a button may send it
  if reply[1] and (tonumber(reply[2] or '') or 0) <= version then
    redis.call('HSET', draft, 'body', body, 'version', a.version)
  end
  if version > 0 and a.voids_ms > 0 then
    redis.call('SET', mark, '=' .. a.version, 'PX', a.voids_ms)
  elseif version > 0 and is_catching_up() then -- catch-up may have read an earlier text, and reads it again
    redis.call('SET', mark, '~' .. a.version, 'PX', 1000 * YOUNG)
  end
  return 'unknown'
end
local key = turn_key(turn)
local seen, ends = redis.call('HMGET', key, 'step', 'kind', 'log', 'lane', 'version', 'thread', 't_sent'), end_of(key)
if is(ends, 'deleted') or ends == 'private' then return 'late' end
local before = tonumber(seen[5] or '') or 0
if version < before or (version > 0 and version == before and seen[1] ~= 'queued') then return 'known' end
if seen[1] ~= 'queued' then
  -- A command has its own lane, and editing it doesn't restart it. What an app posts may be sent for its edit only.
  local is_chat = seen[1] and seen[2] == 'message' and string.sub(seen[4] or '', 1, 2) == 't:'
    and (seen[7] or (cjson.decode(ARGV[2]).app or '') ~= '')
  if not is_chat then return 'late' end
  if version < (tonumber(redis.call('HGET', draft, 'version') or '') or 0) then return 'known' end
  redis.call('HDEL', draft, 'again', 'again_by')
  redis.call('HSET', draft, 'v', VERSION, 'body', body, 'version', a.version, 'lane', seen[4], 'thread', seen[6] or '',
    'of', turn)
  redis.call('PEXPIRE', draft, a.trace_ms)
  return 'asked'
end
if seen[2] ~= a.kind then return 'unknown' end -- the message was refused, and only the notice about that waits
if a.voids_ms > 0 then
  end_as(key, 'withdrawn')
  if redis.call('HGET', parked_key(), seen[4]) == turn then unpark(seen[4]) end
end
redis.call('HSET', key, 'body', body, 'version', a.version, 'log', with_line(seen[3], a.now .. ' - edited', REPEATED))
redis.call('HINCRBY', key, 'edits', 1)
return 'edited'
