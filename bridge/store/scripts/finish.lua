-- The head of the lane is finished: pop it, retire the entry, and if more waits, wake somebody for it at the
-- stream's tail, which is fair to other lanes. "Empty" is decided here, where a PUT would race with it.
-- ARGV: entry, consumer, lane, turn, now (ms), step ('done' | 'dead'), what or '', posted ts or '',
--       keep the text ('1'), lifetime (ms).
-- Returns 'ok' | 'lost'.
local entry, consumer, lane, turn, now, step = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_of(turn)
redis.call('HSET', key, 'step', step, 't_done', now)
if ARGV[7] ~= '' then redis.call('HSET', key, 'what', ARGV[7]) end
if ARGV[8] ~= '' then redis.call('HSET', key, 'posted', ARGV[8]) end
if step == 'done' then redis.call('HDEL', key, 'outcome') end
if ARGV[9] ~= '1' then redis.call('HDEL', key, 'body', 'run') end
redis.call('PEXPIRE', key, ARGV[10])
if step == 'dead' then
  redis.call('ZADD', prefix .. 'dead', now, turn)
  redis.call('ZREMRANGEBYSCORE', prefix .. 'dead', '-inf', tonumber(now) - tonumber(ARGV[10]))
end
redis.call('LPOP', box_of(lane))
retire(entry)
if redis.call('LLEN', box_of(lane)) > 0 then activate(lane) end
return 'ok'
