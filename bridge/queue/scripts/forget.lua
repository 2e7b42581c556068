-- Delete the consumers of processes that ended long ago, old audit entries, and idle threads from the index of active
-- ones. It's one step because deleting a consumer also deletes its pending entries.
-- ARGV: how long a consumer must be idle (ms), time of the oldest audit entry that stays (ms), newest message (s) of a
--       thread to delete from the index, lifetime of that index (ms). Returns how many consumers were deleted.
redis.call('ZREMRANGEBYSCORE', active_key(), '-inf', ARGV[3])
redis.call('PEXPIRE', active_key(), ARGV[4])
redis.call('XTRIM', audit_key(), 'MINID', ARGV[2])
local dropped, consumers = 0, redis.pcall('XINFO', 'CONSUMERS', READY, GROUP)
if consumers.err then return 0 end -- the store was wiped
for _, flat in ipairs(consumers) do
  local consumer = {}
  for i = 1, #flat, 2 do consumer[flat[i]] = flat[i + 1] end
  if consumer.pending == 0 and consumer.idle > tonumber(ARGV[1]) then
    redis.call('XGROUP', 'DELCONSUMER', READY, GROUP, consumer.name)
    dropped = dropped + 1
  end
end
return dropped
