-- Stop the running turn of a lane, or one message's turn, and hold the turns after it, unless someone has gone on writing
-- since: that resumes a lane, in whichever order Slack delivers the two. The mark in the turn's record is what counts; its
-- worker is notified as well. A stop has a time and never touches a turn that started later. The stop's own turn records
-- the stopped turn, so that this may be repeated.
-- ARGV: lane, and as JSON the stop's own turn or '' (by), identity of the one message to stop or '' (only), the stop's time
--       (requested_ts, Slack's), now (ms).
-- Returns {'queued' | 'sent' | 'posting' (how far the turn was) | 'withdrawn' (it was waiting) | 'late' (its answer is
--          being posted) | 'nothing', turn or '', how many wait, thread or ''}.
local lane, a = ARGV[1], cjson.decode(ARGV[2])
local self, message, stopped_at = a.by, a.only, tonumber(a.requested_ts)
local turn = self ~= '' and redis.call('HGET', turn_key(self), 'met')
if not turn then
  if message ~= '' then turn = redis.call('GET', seen_message_key(message))
  else turn = redis.call('LINDEX', box_key(lane), 0) end
  if self ~= '' and redis.call('EXISTS', turn_key(self)) == 1 then
    redis.call('HSET', turn_key(self), 'met', turn or '')
  end
end
if not turn or turn == '' then return {'nothing', '', 0, ''} end

local key = turn_key(turn)
local seen, ends = redis.call('HMGET', key, 'lane', 'step', 'kind', 'body', 'at', 'of', 'log', 'thread', 'waits', 'retries'), end_of(key)
local step, kind, thread = seen[2], seen[3] or 'message', seen[8] or ''
lane = seen[1] or lane
local function others() -- how many wait after it, and whether any was written after the stop
  local count, went_on = 0, false
  for _, id in ipairs(redis.call('LRANGE', box_key(lane), 0, -1)) do
    if id ~= turn and not end_of(turn_key(id)) then
      local other = redis.call('HMGET', turn_key(id), 'ts', 'at')
      count = count + 1
      went_on = went_on or (tonumber(other[1] or '') or tonumber(other[2] or '0') / 1000) > stopped_at
    end
  end
  return count, went_on
end
if is(ends, 'stopped') then
  local at = string.match(ends, '%S+$')
  local is_held = redis.call('HEXISTS', held_key(), lane) == 1
  return {at, turn, is_held and at ~= 'withdrawn' and (others()) or 0, thread}
end

-- A turn queued again, by a button or an operator, is younger than its message.
local started_at = tonumber(seen[5] or '0') / 1000
if not (seen[6] or seen[10]) then
  local is_read, body = pcall(cjson.decode, seen[4] or '')
  started_at = is_read and type(body) == 'table' and tonumber(body.ts) or started_at
end
local is_open = (step == 'queued' or step == 'sent' or step == 'posting') and not ends and kind == 'message'
if not is_open or started_at > stopped_at then return {'nothing', '', 0, ''} end
if step == 'posting' and not seen[9] then return {'late', turn, 0, thread} end

local function mark(at)
  end_as(key, 'stopped ' .. at)
  redis.call('HSET', key, 'log', with_line(seen[7], a.now .. ' - stopped'))
end
local is_head = redis.call('LINDEX', box_key(lane), 0) == turn
if not is_head or redis.call('HEXISTS', held_key(), lane) == 1 then
  if message == '' then return {'nothing', turn, (others()) + 1, ''} end -- all have waited since an earlier stop
  mark('withdrawn')
  if is_head then unpark(lane) end
  return {'withdrawn', turn, 0, thread}
end
mark(step)
local count, went_on = others()
if not went_on then redis.call('HSET', held_key(), lane, a.requested_ts) end
unpark(lane)
redis.pcall('PUBLISH', stops_key(), turn)
return {step, turn, went_on and 0 or count, thread}
