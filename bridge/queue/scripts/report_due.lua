-- The reports that are due: one look into the index, however many are kept.
-- ARGV: now (ms), how many at most. Returns {{report, due (ms), report hash}, …}, the longest due first.
local due = due_key()
local found, ids = {}, redis.call('ZRANGEBYSCORE', due, '-inf', ARGV[1], 'WITHSCORES', 'LIMIT', 0, ARGV[2])
for i = 1, #ids, 2 do
  local fields = redis.call('HGETALL', report_key(ids[i]))
  if #fields == 0 then redis.call('ZREM', due, ids[i]) else found[#found + 1] = {ids[i], ids[i + 1], fields} end
end
return found
