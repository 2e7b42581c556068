-- Take or confirm the namespace, and see to it that the consumer group exists. Repeated by a heartbeat, so
-- that a store that was wiped under us is set up again and says since when it knows anything. Where that was not done for
-- longer than it should be, nobody took messages in meanwhile.
-- ARGV: team, bot user, now (ms), address of the workspace or '', how long that may have been (ms), and for how long it is
--       remembered (ms) how many times it was longer. Returns {'ours', since (ms), this server's clock (ms)} or {'taken', owner}.
local team, bot, now = ARGV[1], ARGV[2], ARGV[3]
local owner = owner_key()
local held = redis.call('HMGET', owner, 'team', 'bot', 'since', 'url', 'alive')
if held[1] and (held[1] ~= team or held[2] ~= bot) then
  return {'taken', held[1] .. '/' .. held[2]}
end
if not held[1] then
  redis.call('HSET', owner, 'v', 1, 'team', team, 'bot', bot, 'since', now)
  held[3] = now
end
if ARGV[4] ~= '' and held[4] ~= ARGV[4] then redis.call('HSET', owner, 'url', ARGV[4]) end
local alive = tonumber(held[5] or '') or tonumber(now)
if tonumber(now) - alive > tonumber(ARGV[5]) then
  note_refusals(string.format('%.3f', alive / 1000), string.format('%.3f', now / 1000), ARGV[6], ARGV[7])
end
redis.call('HSET', owner, 'alive', now)
-- The stream alone says nothing: after a wipe, a PUT that came first made it without the group.
if redis.call('EXISTS', READY) == 0 or #redis.call('XINFO', 'GROUPS', READY) == 0 then
  redis.call('XGROUP', 'CREATE', READY, GROUP, '0', 'MKSTREAM')
end
local clock = redis.call('TIME')
return {'ours', held[3], tostring(clock[1] * 1000 + math.floor(clock[2] / 1000))}
