-- Remove a unit of an outage that was read, and add the units it led to.
-- ARGV: the outage's end (ms), which identifies it, the unit or '', now (ms), which units are now planned ('threads',
--       'planned': all, or ''), how many messages were found, how many of them were queued, how long a thread is marked
--       (ms), the mark that the thread had before it was read or '', then score and name of each new unit.
-- Returns how many units are unread | 'changed': there is a new outage.
local key, unread = catch_up_key(), unread_key()
local seen = redis.call('HMGET', key, 'to', 'done', 'planned')
local read, mark = thread_of(ARGV[2]), ARGV[8]
-- Each mark of a thread grows, up to a limit. One that didn't isn't of the new outage: others were marked.
local is_same = read and mark ~= '' and #mark < 2000 and redis.call('GET', unread_thread_key(read)) == mark
if (seen[1] ~= ARGV[1] and not is_same) or seen[2] then return 'changed' end
for i = 9, #ARGV, 2 do
  redis.call('ZADD', unread, 'GT', ARGV[i], ARGV[i + 1])
  local thread = thread_of(ARGV[i + 1])
  if thread then redis.call('SET', unread_thread_key(thread), ARGV[1], 'PX', ARGV[7]) end
end
if ARGV[2] ~= '' then
  redis.call('ZREM', unread, ARGV[2])
  redis.call('HINCRBY', key, 'read', 1)
  if read then redis.call('DEL', unread_thread_key(read)) end
end
if ARGV[4] ~= '' then redis.call('HSET', key, ARGV[4], 1) end
redis.call('HINCRBY', key, 'found', ARGV[5])
redis.call('HINCRBY', key, 'queued', ARGV[6])
local left = redis.call('ZCARD', unread)
if left > 0 then
  redis.call('PEXPIRE', unread, redis.call('PTTL', key))
elseif seen[3] or ARGV[4] == 'planned' then
  redis.call('HSET', key, 'done', ARGV[3])
end
return left
