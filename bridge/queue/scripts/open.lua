-- Take or confirm the namespace, and ensure that the consumer group exists. Each heartbeat repeats this, so a wiped store
-- is set up again and records when its data begins. If heartbeats paused for too long, messages were refused in between.
-- If Slack couldn't reach any process for longer than it retries, that time must be caught up on; after a wipe, so must
-- the time from which messages may have been waiting.
-- ARGV: team, bot user, now (ms), the workspace's address or '',
--       the longest normal pause between heartbeats (ms), lifetime of recorded refusals (ms), the most to store,
--       Slack reaches this process ('1'), the longest normal time without any such process (ms; '': don't catch up),
--       lifetime of an outage (ms), when the store's data began, as far as this process knows (ms; '': unknown),
--       the earliest time of a message that may have been waiting (ms), what people have set up, in words,
--       this process or '', how long it's remembered (ms).
-- Returns {'ours', since (ms), this server's clock (ms), catching up ('1'), when a wipe was noticed (ms), what people had
--          set up then, and reports and channel settings, as an earlier release counted them ('' each without a wipe)}
--         or {'taken', owner}.
local team, bot, now = ARGV[1], ARGV[2], ARGV[3]
local owner = owner_key()
local held = redis.call('HMGET', owner, 'team', 'bot', 'since', 'url', 'alive', 'listened', 'wiped', 'lost', 'lost_reports',
  'lost_channels')
if held[1] and (held[1] ~= team or held[2] ~= bot) then
  return {'taken', held[1] .. '/' .. held[2]}
end
if not held[1] then
  redis.call('HSET', owner, 'v', 1, 'team', team, 'bot', bot, 'since', now)
  held[3] = now
  if ARGV[11] ~= '' then
    redis.call('HSET', owner, 'wiped', now, 'lost', ARGV[13])
    held[7], held[8] = now, ARGV[13]
    if ARGV[9] ~= '' then note_outage(math.max(tonumber(ARGV[11]), tonumber(ARGV[12])), now, ARGV[10], true) end
  end
end
if ARGV[4] ~= '' and held[4] ~= ARGV[4] then redis.call('HSET', owner, 'url', ARGV[4]) end
local alive = tonumber(held[5] or '') or tonumber(now)
if tonumber(now) - alive > tonumber(ARGV[5]) then
  local how = ARGV[5] == '0' and '' or ' late' -- a starting process accepts nothing before this
  note_refusals(string.format('%.3f', alive / 1000), string.format('%.3f', now / 1000), ARGV[6], ARGV[7], how)
end
redis.call('HSET', owner, 'alive', now)
if ARGV[8] == '1' then
  local listened = tonumber(held[6] or '')
  if listened and ARGV[9] ~= '' and tonumber(now) - listened > tonumber(ARGV[9]) then
    note_outage(listened, now, ARGV[10])
  end
  redis.call('HSET', owner, 'listened', now)
end
-- The stream alone proves nothing: a `put` right after a wipe creates it without the group.
if redis.call('EXISTS', READY) == 0 or #redis.call('XINFO', 'GROUPS', READY) == 0 then
  redis.call('XGROUP', 'CREATE', READY, GROUP, '0', 'MKSTREAM')
end
local at = clock()
if ARGV[14] ~= '' then
  redis.call('ZADD', processes_key(), at, ARGV[14])
  redis.call('ZREMRANGEBYSCORE', processes_key(), '-inf', at - tonumber(ARGV[15]))
  redis.call('PEXPIRE', processes_key(), ARGV[15])
  redis.call('PEXPIRE', in_force_key(ARGV[14]), ARGV[15])
end
return {'ours', held[3], string.format('%d', at), is_catching_up() and '1' or '',
  held[7] or '', held[8] or '', held[9] or '', held[10] or ''}
