-- Take or confirm the namespace, and ensure that the consumer group exists. Each heartbeat repeats this, so a wiped store
-- is set up again and records when its data begins. If heartbeats paused for too long, messages were refused in between.
-- If Slack couldn't reach any process for longer than it retries, that time must be caught up on; after a wipe, so must
-- the time from which messages may have been waiting.
-- ARGV: the facts as JSON (`Namespace.hold`).
-- Returns {'ours', since (ms), this server's clock (ms), catching up ('1'), when a wipe was noticed (ms), what people had
--          set up then, and reports and channel settings, as an earlier release counted them ('' each without a wipe)}
--         or {'taken', owner}.
local a = cjson.decode(ARGV[1])
local team, bot, now = a.team, a.bot, a.now
local owner = owner_key()
local held = redis.call('HMGET', owner, 'team', 'bot', 'since', 'url', 'alive', 'listened', 'wiped', 'lost', 'lost_reports',
  'lost_channels')
if held[1] and (held[1] ~= team or held[2] ~= bot) then
  return {'taken', held[1] .. '/' .. held[2]}
end
if not held[1] then
  redis.call('HSET', owner, 'v', 1, 'team', team, 'bot', bot, 'since', now)
  held[3] = now
  if a.since ~= '' then
    redis.call('HSET', owner, 'wiped', now, 'lost', a.set_up)
    held[7], held[8] = now, a.set_up
    if a.silent_ms > 0 then note_outage(math.max(tonumber(a.since), tonumber(a.waiting_since)), now, a.outage_ms, true) end
  end
end
if a.url ~= '' and held[4] ~= a.url then redis.call('HSET', owner, 'url', a.url) end
local alive = tonumber(held[5] or '') or tonumber(now)
if tonumber(now) - alive > a.gap_ms then
  note_refusals(string.format('%.3f', alive / 1000), string.format('%.3f', now / 1000), a.refusing_ms, a.most_refusing)
end
redis.call('HSET', owner, 'alive', now)
if a.hears_slack then
  local listened = tonumber(held[6] or '')
  if listened and a.silent_ms > 0 and tonumber(now) - listened > a.silent_ms then
    note_outage(listened, now, a.outage_ms)
  end
  redis.call('HSET', owner, 'listened', now)
end
-- The stream alone proves nothing: a `put` right after a wipe creates it without the group.
if redis.call('EXISTS', READY) == 0 or #redis.call('XINFO', 'GROUPS', READY) == 0 then
  redis.call('XGROUP', 'CREATE', READY, GROUP, '0', 'MKSTREAM')
end
local at = clock()
if a.process ~= '' then
  redis.call('ZADD', processes_key(), at, a.process)
  redis.call('ZREMRANGEBYSCORE', processes_key(), '-inf', at - a.process_ms)
  redis.call('PEXPIRE', processes_key(), a.process_ms)
  redis.call('PEXPIRE', in_force_key(a.process), a.process_ms)
end
return {'ours', held[3], string.format('%d', at), is_catching_up() and '1' or '',
  held[7] or '', held[8] or '', held[9] or '', held[10] or ''}
