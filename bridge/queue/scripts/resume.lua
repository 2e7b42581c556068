-- Resume the turns that wait after a stopped one, or withdraw them. The click's turn records the result, so that this may
-- be repeated.
-- ARGV: lane, drop ('1'), the click's own turn. Returns how many were waiting, or -1 if nothing is held.
local lane, count, own = ARGV[1], 0, turn_key(ARGV[3])
local earlier = redis.call('HGET', own, 'met')
if earlier then return tonumber(earlier) end
if redis.call('HEXISTS', held_key(), lane) == 0 then return -1 end
for _, id in ipairs(redis.call('LRANGE', box_key(lane), 0, -1)) do
  local key = turn_key(id)
  local step = redis.call('HGET', key, 'step')
  if step ~= 'sent' and not end_of(key) then
    count = count + 1
    if ARGV[2] == '1' and step == 'queued' then end_as(key, 'withdrawn') end
  end
end
resume(lane)
if redis.call('EXISTS', own) == 1 then redis.call('HSET', own, 'met', count) end
return count
