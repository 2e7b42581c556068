-- Resume the turns that wait behind a stopped one, or withdraw them. The click's turn records the result, so that this may
-- be repeated.
-- ARGV: lane, drop ('1'), the click's own turn. Returns how many waited, or -1: nothing is held.
local lane, count, own = ARGV[1], 0, turn_key(ARGV[3])
local met = redis.call('HGET', own, 'met')
if met then return tonumber(met) end
if redis.call('HEXISTS', held_key(), lane) == 0 then return -1 end
for _, id in ipairs(redis.call('LRANGE', box_key(lane), 0, -1)) do
  local seen = redis.call('HMGET', turn_key(id), 'step', 'withdrawn')
  if not seen[2] and seen[1] ~= 'sent' then
    count = count + 1
    if ARGV[2] == '1' and seen[1] == 'queued' then redis.call('HSET', turn_key(id), 'withdrawn', 1) end
  end
end
let_go_on(lane)
if redis.call('EXISTS', own) == 1 then redis.call('HSET', own, 'met', count) end
return count
