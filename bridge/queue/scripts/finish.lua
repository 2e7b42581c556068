-- Finish the head of the lane: pop it, retire the entry, and if more turns wait, add an entry at the stream's tail, which
-- is fair to other lanes. Whether the lane is empty is decided here, in one step, so that no `put` can race with it.
-- ARGV: entry, consumer, lane, turn, now (ms), step ('done' | 'dead'), what or '', identity of the posted
--       message (its ts is the last part) or '', keep the text ('1'), lifetime (ms), writes (the prelude's `apply`).
-- Returns {'ok', what Redis answered to each write …} | {'lost'}.
local entry, consumer, lane, turn, now, step = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if not owns(entry, consumer, lane, turn) then return {'lost'} end
local key, what = turn_key(turn), ARGV[7]
local seen = redis.call('HMGET', key, 'step', 'what', 'deaths', 'stopped', 'again', 'doubt')
local changes, leave = {'step', step, 't_done', now}, {}
if step == 'dead' then -- facts for a retry, and a line for the trace
  add(changes, 'died', seen[1] or '')
  add(changes, 'was', seen[2] or '')
  add(changes, 'deaths', below(seen[3], now .. ' ' .. what))
end
if what ~= '' then add(changes, 'what', what) end
if ARGV[8] ~= '' then
  add(changes, 'posted', string.match(ARGV[8], '[^:]*$'))
  redis.call('SET', shown_key(ARGV[8]), turn, 'PX', ARGV[10])
end
if step == 'done' and not seen[4] and not seen[6] then leave[#leave + 1] = 'outcome' end -- keep an answer that may not have been shown
if ARGV[9] ~= '1' or seen[5] or seen[4] == 'posting' then
  leave[#leave + 1], leave[#leave + 2] = 'body', 'note'
end
redis.call('HSET', key, unpack(changes))
if #leave > 0 then redis.call('HDEL', key, unpack(leave)) end
redis.call('PEXPIRE', key, ARGV[10])
if step == 'dead' then
  redis.call('ZADD', dead_key(), now, turn)
  redis.call('ZREMRANGEBYSCORE', dead_key(), '-inf', tonumber(now) - tonumber(ARGV[10]))
end
local answers = apply(ARGV[11])
redis.call('LPOP', box_key(lane))
retire(entry)
go_on_behind(lane)
return {'ok', unpack(answers)}
