-- A person votes on an answer: one vote for each person and answer, which may be changed.
-- ARGV: turn of the answer, person, vote, now (ms), agent, session or '', lifetime (ms), most answers that are kept.
-- Returns 'new' | 'changed' | 'same'.
local turn, user, vote, now, lifetime = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[7]
local key, all = votes_key(turn), voted_key()
local earlier = redis.call('HGET', key, 'u:' .. user)
local was = earlier and string.match(earlier, '^%S+')
if was == vote then return 'same' end
redis.call('HSET', key, 'v', 1, 'agent', ARGV[5], 'session', ARGV[6], 'u:' .. user, vote .. ' ' .. now)
redis.call('PEXPIRE', key, lifetime)
redis.call('ZADD', all, now, turn)
redis.call('ZREMRANGEBYSCORE', all, '-inf', tonumber(now) - tonumber(lifetime))
redis.call('ZREMRANGEBYRANK', all, 0, -1 - tonumber(ARGV[8]))
redis.call('PEXPIRE', all, lifetime)
return was and 'changed' or 'new'
