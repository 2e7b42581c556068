-- Remove a unit of an outage that was read, and add the units it led to.
-- ARGV: the outage's end (ms), which identifies it, and the facts as JSON: the unit with how many messages were found and how
--       many of them queued, and the mark that the thread had before it was read or ''; or which units are now planned
--       ('threads' | 'planned': all). And `more`: score and name of each new unit.
-- Returns how many units are unread | 'changed': there is a new outage.
local outage, a = ARGV[1], cjson.decode(ARGV[2])
local key, unread = catch_up_key(), unread_key()
local seen = redis.call('HMGET', key, 'to', 'done', 'planned')
local read, mark = a.unit and thread_of(a.unit), a.mark
-- Each mark of a thread grows, up to a limit. One that didn't isn't of the new outage: others were marked.
local is_same = read and mark ~= '' and #mark < 2000 and redis.call('GET', unread_thread_key(read)) == mark
if (seen[1] ~= outage and not is_same) or seen[2] then return 'changed' end
for _, new in ipairs(a.more) do
  local score, unit = new[1], new[2]
  redis.call('ZADD', unread, 'GT', score, unit)
  local thread = thread_of(unit)
  if thread then redis.call('SET', unread_thread_key(thread), outage, 'PX', a.unread_ms) end
end
if a.unit then
  redis.call('ZREM', unread, a.unit)
  redis.call('HINCRBY', key, 'read', 1)
  redis.call('HINCRBY', key, 'found', a.found)
  redis.call('HINCRBY', key, 'queued', a.queued)
  if read then redis.call('DEL', unread_thread_key(read)) end
end
if a.planned then redis.call('HSET', key, a.planned, 1) end
local left = redis.call('ZCARD', unread)
if left > 0 then
  redis.call('PEXPIRE', unread, redis.call('PTTL', key))
elseif seen[3] or a.planned == 'planned' then
  redis.call('HSET', key, 'done', a.now)
end
return left
