-- Stands before every script, below the helpers that keys.py makes of its table: `turn_key(turn)` names a turn's key.
local READY, GROUP = ready_key(), 'workers'
local YOUNG = 600 -- seconds: Slack sends again what is younger; the third and last time after some six minutes

-- A list of fields and values, for HSET: one more. And a line of a record's story, below what was written earlier.
local function add(fields, name, value) fields[#fields + 1], fields[#fields + 2] = name, value end
local function below(earlier, line) return (earlier and #earlier < 2000 and earlier .. '\n' or '') .. line end

-- Wake somebody for a lane: the invariant is that a lane with work has exactly one entry, or is parked.
local function activate(lane) redis.call('XADD', READY, '*', 'lane', lane) end

-- Hand the lane that has waited longest to a worker that is free ('': nobody is): its entry and its name.
local function next_for(worker)
  if worker == '' then return end
  local streams = redis.pcall('XREADGROUP', 'GROUP', GROUP, worker, 'COUNT', 1, 'STREAMS', READY, '>')
  if not streams or streams.err then return end -- no group: the store was wiped under us
  local entry = streams[1][2][1]
  return entry[1], entry[2][2]
end

-- How many wait in a lane: the one in work does not.
local function waiting_in(lane)
  local head = redis.call('LINDEX', box_key(lane), 0)
  if not head then return 0 end
  local is_in_work = redis.call('HGET', turn_key(head), 'step') ~= 'queued'
  return redis.call('LLEN', box_key(lane)) - (is_in_work and 1 or 0)
end

-- Messages were refused from one time to another, in seconds, as their ts says; `most` such stretches are kept.
local function note_refusals(first, last, lifetime, most)
  redis.call('ZADD', refusing_key(), last, first .. ' ' .. last)
  redis.call('ZREMRANGEBYRANK', refusing_key(), 0, -1 - tonumber(most))
  redis.call('PEXPIRE', refusing_key(), lifetime)
end

-- Something was said in a thread that is bound. The index is pruned by `forget`, and lives as long as its threads.
local function note_activity(thread, ts, lifetime)
  if redis.call('ZADD', active_key(), 'GT', ts, thread) == 1 then redis.call('PEXPIRE', active_key(), lifetime) end
end

-- Nobody listened from one time to another (ms): what was said then is to be looked for in Slack's history, together with
-- what was said in an earlier outage and is not found yet.
local function note_outage(first, last, lifetime, was_wiped)
  local key = catch_up_key()
  local seen = redis.call('HMGET', key, 'from', 'done', 'wiped')
  if seen[1] and not seen[2] then first, was_wiped = math.min(first, seen[1]), was_wiped or seen[3] end
  redis.call('DEL', key, unread_key())
  redis.call('HSET', key, 'v', VERSION, 'from', string.format('%d', first), 'to', string.format('%d', last))
  if was_wiped then redis.call('HSET', key, 'wiped', 1) end
  redis.call('PEXPIRE', key, lifetime)
end

-- Whether something is being looked for there.
local function is_catching_up()
  local seen = redis.call('HMGET', catch_up_key(), 'from', 'done')
  return seen[1] and not seen[2]
end

-- What a lane waited for has come.
local function unpark(lane)
  if redis.call('HDEL', parked_key(), lane) == 1 then activate(lane) end
end

-- The mark of a message that became no turn yet, if that is what `mark` is: from which version on its texts are not
-- void. '=' stands for a message that was deleted; '=<version>' for one whose earlier texts are void since it was
-- edited; '~<version>' for one whose edit was refused, and comes again ('true').
local function voids(mark)
  local sign, version = string.match(mark or '', '^([=~])(.*)$')
  if sign then return tonumber(version) or math.huge, sign == '~' end
end

-- A message was deleted: while it waits, it is marked, and done with as soon as it is the head. One that became no
-- turn yet leaves a mark for `lifetime` (ms, '': none), for Slack may be about to send it again; and while its history is
-- read, for somebody may have read it.
local function withdraw(message, lifetime)
  local mark = seen_message_key(message)
  local turn = redis.call('GET', mark)
  if not turn or voids(turn) then
    if lifetime == '' and is_catching_up() then lifetime = 1000 * YOUNG end
    if lifetime ~= '' then redis.call('SET', mark, '=', 'PX', lifetime) end
    return 'unknown'
  end
  local key = turn_key(turn)
  local seen = redis.call('HMGET', key, 'step', 'lane')
  if seen[1] ~= 'queued' then return 'late' end
  redis.call('HSET', key, 'withdrawn', 1)
  if redis.call('HGET', parked_key(), seen[2]) == turn then unpark(seen[2]) end
  return 'withdrawn'
end

-- A stop holds what waits behind the turn that it stopped, until somebody wants it to go on. Whatever is parked in a
-- lane that is held is parked for that. Says whether it was held.
local function let_go_on(lane)
  if redis.call('HDEL', held_key(), lane) == 0 then return false end
  unpark(lane)
  return true
end

-- The head of the lane was popped. If more waits, wake somebody for it, unless it is held; what was withdrawn is not
-- waited with, because it only has to be done with.
local function go_on_behind(lane)
  local head = redis.call('LINDEX', box_key(lane), 0)
  if not head then
    redis.call('HDEL', held_key(), lane)
  elseif redis.call('HEXISTS', held_key(), lane) == 1
      and redis.call('HEXISTS', turn_key(head), 'withdrawn') == 0 then
    redis.call('HSET', parked_key(), lane, head)
  else
    activate(lane)
  end
end

-- The entry has been dealt with, whoever held it.
local function retire(entry)
  redis.call('XACK', READY, GROUP, entry)
  redis.call('XDEL', READY, entry)
end

-- The fence: the lane's entry is pending for this consumer (and the turn is the head of its lane).
-- Whoever fails it has been taken for dead, and must touch nothing more. So must whoever finds no group: the store
-- was wiped under us. Also returns how often the entry was handed out.
local function owns(entry, consumer, lane, turn)
  local pending = redis.pcall('XPENDING', READY, GROUP, entry, entry, 1)
  if pending.err or #pending == 0 or pending[1][2] ~= consumer then return false end
  return turn == nil or redis.call('LINDEX', box_key(lane), 0) == turn, pending[1][4]
end

-- Look at the head of a lane, for a worker that holds its entry.
-- how: now (ms), begins ('1': the first look of this worker, '0': it has waited and looks again).
-- Returns {'newer', id}: of a later version, and left as it is | {'turn', id, turn hash, thread hash, how often the entry
--          was handed out}.
local function look_at_head(id, consumer, handed_out, how)
  local key = turn_key(id)
  local seen = redis.call('HMGET', key, 'v', 'thread', 'process', 'takes')
  if tonumber(seen[1] or '0') > VERSION then return {'newer', id} end
  local thread = seen[2] or ''
  local conversation = redis.call('HGETALL', thread_key(thread))
  if how[2] == '1' then
    redis.call('HSET', key, 'takes', (seen[4] or 0) + 1,
      'process', below(seen[3], how[1] .. ' ' .. consumer)) -- a line for each take, for the trace
  end
  return {'turn', id, redis.call('HGETALL', key), conversation, handed_out}
end

-- Make one write (`Write` in bridge.queue.records).
local function make(write)
  local how, key, ms = write[1], write[2], write[3]
  local answer
  if how == 'set' then answer = redis.call('SET', key, write[4])
  elseif how == 'delete' then answer = redis.call('DEL', key)
  elseif how == 'field' then answer = redis.call('HSET', key, write[4], write[5])
  elseif how == 'field if' then -- it still has the value that was seen
    answer = (redis.call('HGET', key, write[4]) or '') == write[6] and redis.call('HSET', key, write[4], write[5])
  elseif how == 'field max' then -- a number that only grows, and what belongs to it
    answer = tonumber(write[5]) > tonumber(redis.call('HGET', key, write[4]) or '0')
      and redis.call('HSET', key, unpack(write, 4))
  elseif how == 'push' then -- at the front, and the first ones stay
    answer = redis.call('LPUSH', key, write[4])
    redis.call('LTRIM', key, 0, write[5] - 1)
  elseif how == 'rank' then -- a member with its score, and the highest stay
    answer = redis.call('ZADD', key, write[5], write[4])
    if write[6] > 0 then redis.call('ZREMRANGEBYRANK', key, 0, -write[6] - 1) end
  elseif how == 'unrank' then answer = redis.call('ZREM', key, write[4])
  elseif how == 'append' then -- to a stream of about so many entries
    answer = redis.call('XADD', key, 'MAXLEN', '~', write[4], '*', unpack(write, 5))
  else error('no such write: ' .. how) end
  if ms > 0 then redis.call('PEXPIRE', key, ms) end
  return answer
end

-- Whether each of some fields has its value ('': it is not there).
local function holds(guard)
  for at = 5, #guard, 2 do
    if (redis.call('HGET', guard[2], guard[at]) or '') ~= guard[at + 1] then return false end
  end
  return true
end

-- Writes that belong to a step, and are made with it: `writes` is a JSON list of them, '' for none. An 'if' that does not
-- hold leaves out those that it guards. Returns what Redis answered to each ('': nothing was written).
local function apply(writes)
  local answers, left_out = {}, 0
  for _, write in ipairs(writes ~= '' and cjson.decode(writes) or {}) do
    local answer
    if left_out > 0 then left_out = left_out - 1
    elseif write[1] ~= 'if' then answer = make(write)
    elseif holds(write) then answer = 'holds'
    else left_out = write[4] end
    answers[#answers + 1] = answer and tostring(answer) or ''
  end
  return answers
end

-- Limits: whether `key` has counted as much as `limit` allows in its window, and one more for it. 0 is no limit. The
-- window (ms) begins with what is counted first.
local function is_used_up(key, limit)
  return limit > 0 and tonumber(redis.call('GET', key) or '0') >= limit
end
local function count(key, window)
  local counted = redis.call('INCR', key)
  if counted == 1 then redis.call('PEXPIRE', key, window) end
  return counted
end
