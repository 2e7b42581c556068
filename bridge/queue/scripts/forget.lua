-- Delete the consumers of processes that ended long ago, old audit entries, and idle threads from the index of active
-- ones. It's one step because deleting a consumer also deletes its pending entries.
-- ARGV: as JSON how long a consumer must be idle (gone_ms), time of the oldest audit entry that stays (ms), newest message
--       (s) of a thread to delete from the index (idle_since), lifetime of that index (session_ms).
-- Returns how many consumers were deleted.
local a = cjson.decode(ARGV[1])
redis.call('ZREMRANGEBYSCORE', active_key(), '-inf', a.idle_since)
redis.call('PEXPIRE', active_key(), a.session_ms)
redis.call('XTRIM', audit_key(), 'MINID', a.oldest)
local dropped, consumers = 0, redis.pcall('XINFO', 'CONSUMERS', READY, GROUP)
if consumers.err then return 0 end -- the store was wiped
for _, flat in ipairs(consumers) do
  local consumer = by_field(flat)
  if consumer.pending == 0 and consumer.idle > a.gone_ms then
    redis.call('XGROUP', 'DELCONSUMER', READY, GROUP, consumer.name)
    dropped = dropped + 1
  end
end
return dropped
