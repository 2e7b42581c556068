-- Claim one of the places that waiting requests for approval may have, for a turn that is about to ask. It counts until
-- the request is stored with the turn's outcome; if that never happens, it expires.
-- ARGV: entry, consumer, lane, turn, the claim as JSON: approval, asker, how many of theirs and of all may wait
--       (most_of_one, most), and its writes (the prelude's `apply`).
-- Returns {'lost'} | {'ok'} | {'person'} (too many of theirs wait) | {'everyone'} (too many in all).
local entry, consumer, lane, turn, a = ARGV[1], ARGV[2], ARGV[3], ARGV[4], cjson.decode(ARGV[5])
if not owns(entry, consumer, lane, turn) then return {'lost'} end
local waiting, theirs = redis.call('ZRANGE', approvals_key(), 0, -1), 0
for _, other in ipairs(waiting) do
  if other == a.approval then return {'ok'} end
  if redis.call('HGET', approval_key(other), 'asker') == a.asker then theirs = theirs + 1 end
end
if theirs >= a.most_of_one then return {'person'} end
if #waiting >= a.most then return {'everyone'} end
apply(a.writes)
return {'ok'}
