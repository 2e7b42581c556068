-- queued → sent, before the request.
-- ARGV: entry, consumer, lane, turn, now (ms), token of this take, edits that the request includes,
--       the note on the request or '', the person and the runs they may start per hour (0: no limit),
--       thread to bind to the agent or '', agent or '', thread lifetime (ms),
--       the thread's project if it isn't bound,
--       writes (the prelude's `apply`); if the first is an 'if' that doesn't hold, nothing is sent.
-- Returns 'ok' | 'lost' | 'changed' (edited, withdrawn or discarded since, or the thread has another agent: look again) |
--         'paused:<ms>' (time until the next run) | 'stale': see the writes.
local entry, consumer, lane, turn, now, token, edits = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
local seen = redis.call('HMGET', key, 'step', 'by', 'withdrawn', 'edits', 'discarded')
if seen[1] == 'sent' and seen[2] == token then return 'ok' end
if seen[1] ~= 'queued' then return 'lost' end
if seen[3] or seen[5] or (seen[4] or '0') ~= edits then return 'changed' end
if ARGV[11] ~= '' then
  local conversation = thread_key(ARGV[11])
  bind(conversation, ARGV[14])
  redis.call('HSETNX', conversation, 'agent', ARGV[12]) -- the first choice wins
  redis.call('PEXPIRE', conversation, ARGV[13])
  if redis.call('HGET', conversation, 'agent') ~= ARGV[12] then return 'changed' end
end
local runs = ARGV[8] ~= '' and ARGV[10] ~= '0' and run_pace_key(ARGV[9])
if runs and is_used_up(runs, tonumber(ARGV[10])) then return 'paused:' .. redis.call('PTTL', runs) end
if ARGV[15] ~= '' and apply(ARGV[15])[1] == '' then return 'stale' end
if runs then count(runs, 3600000) end
redis.call('HSET', key, 'step', 'sent', 't_sent', now, 'by', token)
if ARGV[8] ~= '' then redis.call('HSET', key, 'note', ARGV[8]) end
return 'ok'
