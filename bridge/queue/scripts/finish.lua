-- Finish the head of the lane: pop it, retire the entry, and if more turns wait, add an entry at the stream's tail, which
-- is fair to other lanes. Whether the lane is empty is decided here, in one step, so that no `put` can race with it.
-- ARGV: entry, consumer, lane, turn, now (ms), step ('done' | 'dead'), name of the outcome or '', identity of the posted
--       message (its ts is the last part) or '', keep the text ('1'), lifetime (ms), writes (the prelude's `apply`),
--       thread lifetime (ms), the turn's person.
-- Returns {'ok', Redis's answer to each write …} | {'lost'}.
local entry, consumer, lane, turn, now, step = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local is_ours, _, following = owns(entry, consumer, lane, turn)
if not is_ours then return {'lost'} end
local key, what = turn_key(turn), ARGV[7]
local seen = redis.call('HMGET', key, 'step', 'what', 'deaths', 'stopped', 'again', 'doubt', 'deleted')
local is_deleted, writes = seen[7], ARGV[11]
if step == 'dead' and is_deleted then step, what, writes = 'done', 'deleted', '' end -- nobody misses it
local changes, delete = {'step', step, 't_done', now}, {}
if step == 'dead' then -- facts for a retry, and a line for the trace
  add(changes, 'died', seen[1] or '')
  add(changes, 'was', seen[2] or '')
  add(changes, 'deaths', with_line(seen[3], now .. ' ' .. what))
end
if what ~= '' then add(changes, 'what', what) end
if ARGV[8] ~= '' then
  add(changes, 'posted', string.match(ARGV[8], '[^:]*$'))
  show(ARGV[8], turn, ARGV[13], ARGV[10])
end
-- An answer that may not have been shown stays stored.
if step == 'done' and (is_deleted or not (seen[4] or seen[6])) then delete[#delete + 1] = 'outcome' end
if ARGV[9] ~= '1' or is_deleted or seen[5] or seen[4] == 'posting' then
  delete[#delete + 1], delete[#delete + 2] = 'body', 'note'
end
redis.call('HSET', key, unpack(changes))
if #delete > 0 then redis.call('HDEL', key, unpack(delete)) end
redis.call('PEXPIRE', key, ARGV[10])
if step == 'dead' then
  redis.call('ZADD', dead_key(), now, turn)
  redis.call('ZREMRANGEBYSCORE', dead_key(), '-inf', tonumber(now) - tonumber(ARGV[10]))
end
local answers = apply(writes)
redis.call('LPOP', box_key(lane))
retire(entry)
activate_next(lane, ARGV[12], following)
return {'ok', unpack(answers)}
