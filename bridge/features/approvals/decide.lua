-- Decide about a request for approval: the only step that counts a click. It's behind the fence of the click's turn, and
-- looks at all that may have happened since its person was judged: the request's state, its deadline, its terms and its
-- input. With the last approval, it queues the run's turn.
-- ARGV: entry, consumer, lane, turn, the decision as JSON: approval, what (approve | deny | withdraw), user, digest, terms,
--       counts (of each kind of approval that it takes), only (the kind that this is; 0: all), said, now and deadline (ms; the deadline by this server's clock), lives_ms, and the writes that end it (the
--       prelude's `apply`): `ends`, or `changed` if other terms are in force.
-- Returns {'lost'} | {'counted' | 'already' (by another click of theirs) | 'over' (it's decided) | 'late' | 'other' (input) |
--         'changed' | 'gone', the request's state}.
local entry, consumer, lane, turn = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not owns(entry, consumer, lane, turn) then return {'lost'} end
local a = cjson.decode(ARGV[5])
local key = approval_key(a.approval)
local seen = redis.call('HMGET', key, 'state', 'digest', 'terms', 'decisions')
local state, decisions = seen[1], seen[4] or ''
if not state then return {'gone', ''} end
local left, is_theirs = a.counts, false
local function counted(kind)
  local most = 0
  for number in ipairs(left) do
    if kind == 0 or kind == number then left[number] = left[number] - 1 end
    most = math.max(most, left[number])
  end
  return most
end
for user, what, by in string.gmatch(decisions, '%d+ (%S+) (%S+) (%S+)') do
  if by == turn then return {'counted', state} end -- its answer was lost
  local kind = string.match(what, '^approve:?(%d*)$')
  if kind then
    counted(tonumber(kind) or 0)
    is_theirs = is_theirs or user == a.user
  end
end
if state ~= 'waiting' then return {'over', state} end
if seen[2] ~= a.digest then return {'other', state} end
if clock() > a.deadline then return {'late', state} end
local ends = false
if a.what ~= 'withdraw' and seen[3] ~= a.terms then
  state, ends = 'changed', a.changed
elseif a.what == 'approve' then
  if is_theirs then return {'already', state} end
  if a.only > 0 then a.what = a.what .. ':' .. a.only end
  if counted(a.only) <= 0 then state, ends = 'approved', a.ends end
else
  state, ends = a.what == 'deny' and 'denied' or 'withdrawn', a.ends
end
if state ~= 'changed' then
  local line = a.now .. ' ' .. a.user .. ' ' .. a.what .. ' ' .. turn
  redis.call('HSET', key, 'decisions', decisions == '' and line or decisions .. '\n' .. line)
end
if ends then
  redis.call('HSET', key, 'state', state, 'said', a.said)
  redis.call('ZREM', approvals_key(), a.approval)
  redis.call('PEXPIRE', key, a.lives_ms)
  apply(ends)
end
return {state == 'changed' and 'changed' or 'counted', state}
