-- The head of the lane is finished: pop it, retire the entry, and if more waits, wake somebody for it at the
-- stream's tail, which is fair to other lanes. "Empty" is decided here, where a PUT would race with it.
-- ARGV: entry, consumer, lane, turn, now (ms), step ('done' | 'dead'), what or '', identity of the posted
--       message (its ts is the last part) or '',
--       keep the text ('1'), lifetime (ms), lifetime of the audit (ms, '0': none), its length, and for it: user,
--       channel, thread, did, about, allowed ('1'); and for 'done': the person, a line of the run that ended or '', the
--       thread in which they were answered or '', how many of each are kept, their lifetime (ms).
-- Returns 'ok' | 'lost' | 'stale' (so is now the person's Home, who has looked at it in the last hour).
local entry, consumer, lane, turn, now, step = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key, what = turn_key(turn), ARGV[7]
local seen = redis.call('HMGET', key, 'step', 'what', 'deaths', 'stopped', 'again', 'at', 'doubt')
local changes, leave = {'step', step, 't_done', now}, {}
if step == 'dead' then -- what a retry needs to know, and a line for the trace
  add(changes, 'died', seen[1] or '')
  add(changes, 'was', seen[2] or '')
  add(changes, 'deaths', below(seen[3], now .. ' ' .. what))
end
if what ~= '' then add(changes, 'what', what) end
if ARGV[8] ~= '' then
  add(changes, 'posted', string.match(ARGV[8], '[^:]*$'))
  redis.call('SET', shown_key(ARGV[8]), turn, 'PX', ARGV[10])
end
if step == 'done' and not seen[4] and not seen[7] then leave[#leave + 1] = 'outcome' end -- an answer that perhaps nobody was shown stays
if ARGV[9] ~= '1' or seen[5] or seen[4] == 'posting' then
  leave[#leave + 1], leave[#leave + 2] = 'body', 'run'
end
redis.call('HSET', key, unpack(changes))
if #leave > 0 then redis.call('HDEL', key, unpack(leave)) end
redis.call('PEXPIRE', key, ARGV[10])
if step == 'dead' then
  redis.call('ZADD', dead_key(), now, turn)
  redis.call('ZREMRANGEBYSCORE', dead_key(), '-inf', tonumber(now) - tonumber(ARGV[10]))
end
if ARGV[11] ~= '0' then
  local audit = audit_key()
  redis.call('XADD', audit, 'MAXLEN', '~', ARGV[12], '*', 'v', 1, 'at', seen[6] or '',
    'user', ARGV[13], 'channel', ARGV[14], 'thread', ARGV[15], 'did', ARGV[16], 'about', ARGV[17],
    'allowed', ARGV[18], 'outcome', (step == 'dead' and 'dead: ' or '') .. what, 'turn', turn)
  redis.call('PEXPIRE', audit, ARGV[11])
end
redis.call('LPOP', box_key(lane))
retire(entry)
go_on_behind(lane)

-- What the person did lately, for their Home tab.
local person, ran, talk, most, lately_ms = ARGV[19], ARGV[20], ARGV[21], tonumber(ARGV[22]), tonumber(ARGV[23])
local is_news = false
if ran and ran ~= '' then
  local runs = recent_runs_key(person)
  redis.call('LPUSH', runs, ran)
  redis.call('LTRIM', runs, 0, most - 1)
  redis.call('PEXPIRE', runs, lately_ms)
  is_news = true
end
if talk and talk ~= '' then
  local talks = recent_threads_key(person)
  is_news = redis.call('ZADD', talks, now, talk) == 1
  redis.call('ZREMRANGEBYRANK', talks, 0, -most - 1)
  redis.call('PEXPIRE', talks, lately_ms)
end
if is_news and redis.call('PTTL', home_key(person)) > lately_ms - 3600000 then return 'stale' end
return 'ok'
