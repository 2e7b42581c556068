-- Read the head of a lane.
-- ARGV: entry, consumer, lane, and arguments for the prelude's `look_at_head`.
-- Returns {'lost'} | {'empty'} | the result of `look_at_head`.
local entry, consumer, lane = ARGV[1], ARGV[2], ARGV[3]
local is_ours, times_delivered = owns(entry, consumer, lane)
if not is_ours then return {'lost'} end
local id = redis.call('LINDEX', box_key(lane), 0)
if not id then
  retire(entry)
  return {'empty'}
end
return look_at_head(id, consumer, times_delivered, {unpack(ARGV, 4)})
