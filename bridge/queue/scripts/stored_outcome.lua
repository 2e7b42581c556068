-- Return an outcome that was recorded but may not have been posted: to the first click on a message's button, as often as
-- that click's turn asks. If that turn couldn't be finished, the next click gets it.
-- ARGV: turn, the click's own turn, ts of the message with the button. Returns {'stored', outcome} | {'already'} | {'gone'}.
local key, own, button = turn_key(ARGV[1]), ARGV[2], 'shown:' .. ARGV[3]
local seen = redis.call('HMGET', key, 'outcome', 'doubt', button, 'step')
if seen[3] and seen[3] ~= own and redis.call('HGET', turn_key(seen[3]), 'step') ~= 'dead' then return {'already'} end
if not seen[1] or not (seen[2] or seen[4] == 'dead' or end_of(key) == 'stopped posting') then return {'gone'} end
redis.call('HSET', key, button, own)
return {'stored', seen[1]}
