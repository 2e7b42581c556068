-- queued → sent, before the request.
-- ARGV: entry, consumer, lane, turn, now (ms), token of this take, edits that the request includes,
--       the note on the request or '', limits as JSON: [counter, most, window (ms), amount] each, or '',
--       thread to bind to the agent or '', agent or '', thread lifetime (ms),
--       the thread's project if it isn't bound,
--       writes (the prelude's `apply`); if the first is an 'if' that doesn't hold, nothing is sent.
-- Returns 'ok' | 'lost' | 'changed' (edited, withdrawn or discarded since, or the thread has another agent: look again) |
--         'paused:<number of the limit>:<ms until it's free>' | 'stale': see the writes |
--         'near:<number>:<left>:<ms>': it's ok, and this limit is now used up by 80%.
local entry, consumer, lane, turn, now, token, edits = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
local seen = redis.call('HMGET', key, 'step', 'by', 'withdrawn', 'edits', 'discarded')
if seen[1] == 'sent' and seen[2] == token then return 'ok' end
if seen[1] ~= 'queued' then return 'lost' end
if seen[3] or seen[5] or (seen[4] or '0') ~= edits then return 'changed' end
local limits = ARGV[9] ~= '' and cjson.decode(ARGV[9]) or {}
local number, counter = used_up(limits)
if number then return 'paused:' .. number .. ':' .. redis.call('PTTL', counter) end
if ARGV[10] ~= '' then
  local conversation = thread_key(ARGV[10])
  bind(conversation, ARGV[13])
  local is_first = redis.call('HSETNX', conversation, 'agent', ARGV[11]) == 1
  redis.call('PEXPIRE', conversation, ARGV[12])
  if not is_first and redis.call('HGET', conversation, 'agent') ~= ARGV[11] then return 'changed' end
end
if ARGV[14] ~= '' and apply(ARGV[14])[1] == '' then return 'stale' end
local windows, near, left = count(limits, turn .. '.' .. token)
redis.call('HSET', key, 'step', 'sent', 't_sent', now, 'by', token)
if #limits > 0 then redis.call('HSET', key, 'counted', table.concat(windows, ' ')) end
if ARGV[8] ~= '' then redis.call('HSET', key, 'note', ARGV[8]) end
return near and 'near:' .. near .. ':' .. left .. ':' .. redis.call('PTTL', limits[near].key) or 'ok'
