-- queued or sent → posting: record the outcome to show, together with its writes. The agent isn't called again.
-- ARGV: entry, consumer, lane, turn, the facts as JSON (`Journal.outcome`), the outcome.
-- Returns 'ok' | 'lost' | 'changed' (edited, withdrawn or discarded since the turn was taken, and nothing was sent: look again) |
--         'stopped' (recorded, but the turn was stopped: don't show it) | 'deleted' (recorded, and only for its person).
local entry, consumer, lane, turn, a = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
local seen, ends = redis.call('HMGET', key, 'step', 'log'), end_of(key)
local is_off = is(ends, 'stopped') or is(ends, 'deleted')
local written = is_off and 'stopped' or ends == 'private' and 'deleted' or 'ok'
if seen[1] == 'posting' then return written end -- already written; its answer was lost
if seen[1] ~= 'queued' and seen[1] ~= 'sent' then return 'lost' end
local may_end = not ends or (is(ends, 'discarded') and a.what == 'discarded')
if seen[1] == 'queued' and (not may_end or has_other_text(key, a.token)) then return 'changed' end
redis.call('HSET', key, 'step', 'posting', 'outcome', ARGV[6], 'what', a.what,
  'log', with_line(seen[2], a.now .. ' ' .. consumer .. ' outcome ' .. a.facts))
if ends ~= 'deleted thread' then apply(a.writes) end -- that thread has no conversation any more
return written
