-- Find the result of a put whose answer was lost and that may have handed its lane to this consumer. A put that hasn't run
-- yet will be refused, because to its caller it failed.
-- ARGV: turn, consumer, how long the put is refused (ms), and arguments for the prelude's `look_at_head`.
-- Returns {entry, lane, the result of `look_at_head`} with the lease renewed | {}.
local turn, consumer = ARGV[1], ARGV[2]
local lane = redis.call('HGET', turn_key(turn), 'lane')
if not lane then
  redis.call('SET', refused_key(turn), 1, 'PX', ARGV[3])
  return {}
end
if redis.call('LINDEX', box_key(lane), 0) ~= turn then return {} end
local pending = redis.pcall('XPENDING', READY, GROUP, '-', '+', 10000, consumer)
if pending.err then return {} end -- the store was wiped
for _, one in ipairs(pending) do
  local found = redis.call('XRANGE', READY, one[1], one[1])[1]
  if found and found[2][2] == lane then
    redis.call('XCLAIM', READY, GROUP, consumer, 0, one[1], 'JUSTID')
    return {one[1], lane, look_at_head(turn, consumer, one[4], {unpack(ARGV, 4)})}
  end
end
return {}
