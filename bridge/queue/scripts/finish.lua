-- Finish the head of the lane: pop it, retire the entry, and if more turns wait, add an entry at the stream's tail, which
-- is fair to other lanes. Whether the lane is empty is decided here, in one step, so that no `put` can race with it.
-- ARGV: entry, consumer, lane, turn, the facts as JSON (`Journal.done`, `Journal.bury`): among them the step ('done' |
--       'dead'), the name of the outcome, the identity of the posted message (its ts is the last part), and writes (the
--       prelude's `apply`).
-- Returns {'ok', Redis's answer to each write …} | {'lost'}.
local entry, consumer, lane, turn, a = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])
local is_ours, _, following = owns(entry, consumer, lane, turn)
if not is_ours then return {'lost'} end
local key, step, what, writes = turn_key(turn), a.step, a.what, a.writes
local seen, ends = redis.call('HMGET', key, 'step', 'what', 'again', 'doubt', 'log'), end_of(key)
local is_deleted, is_stopped = is(ends, 'deleted') or ends == 'private', is(ends, 'stopped')
if step == 'dead' and is_deleted then step, what, writes = 'done', 'deleted', '' end -- nobody misses it
local changes, delete = {'step', step, 'log', with_line(seen[5], a.now .. ' ' .. consumer .. ' ' .. step .. ' ' .. what)}, {}
if step == 'dead' then -- facts for a retry
  add(changes, 'died', seen[1] or '')
  add(changes, 'was', seen[2] or '')
end
if what ~= '' then add(changes, 'what', what) end
if a.posted ~= '' then
  add(changes, 'posted', string.match(a.posted, '[^:]*$'))
  show(a.posted, turn, a.person, a.trace_ms)
end
-- An answer that may not have been shown stays stored.
if step == 'done' and (is_deleted or not (is_stopped or seen[4])) then delete[#delete + 1] = 'outcome' end
if not a.keeps_text or is_deleted or seen[3] or ends == 'stopped posting' then
  delete[#delete + 1], delete[#delete + 2] = 'body', 'note'
end
redis.call('HSET', key, unpack(changes))
if #delete > 0 then redis.call('HDEL', key, unpack(delete)) end
redis.call('PEXPIRE', key, a.trace_ms)
if step == 'dead' then
  redis.call('ZADD', dead_key(), a.now, turn)
  redis.call('ZREMRANGEBYSCORE', dead_key(), '-inf', tonumber(a.now) - a.trace_ms)
end
local answers = apply(writes)
redis.call('LPOP', box_key(lane))
retire(entry)
activate_next(lane, a.session_ms, following)
return {'ok', unpack(answers)}
