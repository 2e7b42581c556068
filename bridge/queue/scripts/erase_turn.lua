-- Delete a turn with its texts and results, unless it's being worked on. ARGV: turn, thread lifetime (ms).
-- Returns 'erased' | 'running' | 'unknown'.
local turn = ARGV[1]
local key = turn_key(turn)
local seen = redis.call('HMGET', key, 'step', 'lane', 'takes')
local step, lane = seen[1], seen[2] or ''
if not step then return 'unknown' end
if step ~= 'done' and step ~= 'dead' then
  local is_head = redis.call('LINDEX', box_key(lane), 0) == turn
  local is_parked = redis.call('HGET', parked_key(), lane) == turn
  if is_head and not is_parked and (step ~= 'queued' or seen[3]) then return 'running' end
  redis.call('LREM', box_key(lane), 1, turn)
  if is_parked then -- otherwise the lane's entry stays, and a worker that finds no turn retires it
    redis.call('HDEL', parked_key(), lane)
    activate_next(lane, ARGV[2], redis.call('LINDEX', box_key(lane), 0))
  end
end
redis.call('DEL', key, results_key(turn))
redis.call('ZREM', dead_key(), turn)
return 'erased'
