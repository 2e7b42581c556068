-- queued → sent. Only then may the request go out.
-- ARGV: entry, consumer, lane, turn, now (ms), token of this take, edits that the request knows of,
--       description of the run or ''.
-- Returns 'ok' | 'lost' | 'changed' (edited or withdrawn meanwhile: look again).
local entry, consumer, lane, turn, now, token, edits = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_of(turn)
local seen = redis.call('HMGET', key, 'step', 'by', 'withdrawn', 'edits')
if seen[1] == 'sent' and seen[2] == token then return 'ok' end
if seen[1] ~= 'queued' then return 'lost' end
if seen[3] or (seen[4] or '0') ~= edits then return 'changed' end
redis.call('HSET', key, 'step', 'sent', 't_sent', now, 'by', token)
if ARGV[8] ~= '' then redis.call('HSET', key, 'run', ARGV[8]) end
return 'ok'
