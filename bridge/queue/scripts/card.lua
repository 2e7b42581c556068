-- Store the message that shows a turn's progress, so that it's updated instead of posted again.
-- ARGV: entry, consumer, lane, turn, the facts as JSON (`Journal.card`): among them the identity of that message, of which
--       the ts is the last part.
-- Returns 'ok' | 'lost'.
local entry, consumer, lane, turn, a = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])
if not owns(entry, consumer, lane, turn) then return 'lost' end
redis.call('HSET', turn_key(turn), 'card', string.match(a.card, '[^:]*$'))
show(a.card, turn, a.person, a.trace_ms)
return 'ok'
