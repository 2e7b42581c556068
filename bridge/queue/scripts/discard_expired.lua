-- Discard what waits in parked lanes for longer than a conversation lasts: nobody chose an agent, or resumed it after a stop.
-- ARGV: time (ms) of the newest message of such a lane, the lanes as JSON. Returns how many lanes.
local count = 0
for _, lane in ipairs(cjson.decode(ARGV[2])) do
  local box, is_parked = redis.call('LRANGE', box_key(lane), 0, -1), redis.call('HEXISTS', parked_key(), lane) == 1
  if is_parked and #box == 0 then -- its keys have expired
    redis.call('HDEL', parked_key(), lane)
    redis.call('HDEL', held_key(), lane)
  elseif is_parked then
    local newest, left = 0, redis.call('PTTL', box_key(lane))
    for _, id in ipairs(box) do newest = math.max(newest, tonumber(redis.call('HGET', turn_key(id), 'at') or '0')) end
    if newest <= tonumber(ARGV[1]) or (left >= 0 and left < GRACE) then
      discard(lane, redis.call('HEXISTS', held_key(), lane) == 1 and 'stopped' or 'not chosen')
      count = count + 1
    end
  end
end
return count
