-- queued → sent, before the request.
-- ARGV: entry, consumer, lane, turn, the facts as JSON (`Journal.sent`): among them the thread to bind to the agent, or '',
--       and writes (the prelude's `apply`); if the first is an 'if' that doesn't hold, nothing is sent.
-- Returns 'ok' | 'lost' | 'changed' (edited, withdrawn or discarded since, or the thread has another agent: look again) |
--         'paused:<number of the limit>:<ms until it's free>' | 'stale': see the writes |
--         'near:<number>:<left>:<ms>': it's ok, and this limit is now used up by 80%.
local entry, consumer, lane, turn, a = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
local seen = redis.call('HMGET', key, 'step', 'token')
if seen[1] == 'sent' and seen[2] == a.token then return 'ok' end
if seen[1] ~= 'queued' then return 'lost' end
if end_of(key) or has_other_text(key, a.token) then return 'changed' end
local number, counter = used_up(a.limits)
if number then return 'paused:' .. number .. ':' .. redis.call('PTTL', counter) end
if a.thread ~= '' then
  local conversation = thread_key(a.thread)
  bind(conversation, a.project)
  local is_first = redis.call('HSETNX', conversation, 'agent', a.agent) == 1
  redis.call('PEXPIRE', conversation, a.session_ms)
  if not is_first and redis.call('HGET', conversation, 'agent') ~= a.agent then return 'changed' end
end
if apply(a.writes)[1] == '' then return 'stale' end
local windows, near, left = count(a.limits, turn .. '.' .. a.token)
redis.call('HSET', key, 'step', 'sent', 't_sent', a.now)
if a.repeats then redis.call('HSET', key, 'repeats', 1) end
if #a.limits > 0 then redis.call('HSET', key, 'counted', table.concat(windows, ' ')) end
if a.note ~= '' then redis.call('HSET', key, 'note', a.note) end
return near and 'near:' .. near .. ':' .. left .. ':' .. redis.call('PTTL', a.limits[near].key) or 'ok'
