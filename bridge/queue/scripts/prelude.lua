-- Prepended to every script, after the helpers that keys.py generates from its table: `turn_key(turn)` names a turn's key.
local READY, GROUP = ready_key(), 'workers'
local YOUNG = 600 -- seconds; Slack may resend any younger message: its third and last retry is after about six minutes
local ENDED = 90000000 -- ms; an ended conversation isn't searched for in its thread, as after any search
local GRACE = 604800000 -- ms; `discard_expired` has this long before a parked lane's keys expire

-- Append a field and its value to the arguments of HSET.
local function add(fields, name, value) fields[#fields + 1], fields[#fields + 2] = name, value end

-- A turn's log with one more line, '<ms> <process or -> <what it did> <facts>', up to a limit. What may repeat without end
-- (deliveries and takes) leaves room for the rest: `most`.
local function with_line(log, line, most)
  if not log then return line end
  return #log < (most or 8000) and log .. '\n' .. line or log
end
local REPEATED = 2000

-- A hash as HGETALL returns it, by field.
local function by_field(list)
  local hash = {}
  for at = 1, #list, 2 do hash[list[at]] = list[at + 1] end
  return hash
end

-- This server's clock, in ms.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Add a lane's entry. The invariant: a lane with work has exactly one entry, or is parked.
local function activate(lane) redis.call('XADD', READY, '*', 'lane', lane) end

-- How a turn that isn't over will end, if that's decided, else nil: 'withdrawn' | 'discarded <why> <how many>' |
-- 'stopped <at which step; withdrawn: while it waited>' | 'deleted <message or thread>', which stops it, too | 'private':
-- its message was deleted, but a run can't be undone, so only its person gets to see the card.
-- The earlier release, which may still run and work on the turn, has a field for each.
local function end_of(key)
  local seen = redis.call('HMGET', key, 'end', 'deleted', 'withdrawn', 'stopped', 'discarded')
  if seen[2] then return seen[3] and 'deleted ' .. seen[2] or 'private' end
  return seen[1] or (seen[4] and 'stopped ' .. seen[4]) or (seen[5] and 'discarded ' .. seen[5])
    or (seen[3] and 'withdrawn') or nil
end
local function is(how, word) return how ~= nil and string.sub(how, 1, #word) == word end
local function end_as(key, how)
  redis.call('HSET', key, 'end', how)
  local what, fact = string.match(how, '^(%S+) ?(.*)$')
  if what == 'private' then redis.call('HSET', key, 'deleted', 'message')
  elseif what == 'discarded' then redis.call('HSET', key, 'discarded', fact)
  else
    redis.call('HSET', key, 'withdrawn', 1)
    if what == 'deleted' then redis.call('HSET', key, 'deleted', fact) end
    if what == 'stopped' then redis.call('HSET', key, 'stopped', fact)
    elseif what == 'deleted' and redis.call('HGET', key, 'step') ~= 'queued' then redis.call('HSET', key, 'stopped', 'deleted') end
  end
end

-- Whether a turn has another text than at the take with this token: a later take resets its `edits`.
local function has_other_text(key, token)
  local seen = redis.call('HMGET', key, 'token', 'edits')
  return seen[1] ~= token or seen[2]
end

-- Who has written in a thread of a channel, by time: `said` with one more line '<ts> <person> <how>', or without the one of
-- that time (`person` is ''). How: '1' (the agent gets it), '0' (it isn't for the agent) or 'x' (it was refused, or the
-- thread is muted). Only the latest stay, for messages that Slack delivers late.
local function with_said(said, at, person, how)
  local lines = {}
  for line, when, before in string.gmatch(said or '', '((%S+) %S+ (%S))') do
    if when ~= at then lines[#lines + 1] = line elseif before == '1' then how = before end
  end
  local place = #lines + 1
  while place > 1 and tonumber(string.match(lines[place - 1], '^%S+')) > tonumber(at) do place = place - 1 end
  if person ~= '' then table.insert(lines, place, at .. ' ' .. person .. ' ' .. how) end
  return table.concat(lines, '\n', math.max(1, #lines - 19))
end

-- Bind a thread, unless it's bound: it keeps the project ('': the default one) in which it began.
local function bind(conversation, project)
  if redis.call('HSETNX', conversation, 'v', VERSION) == 1 and project ~= '' then
    redis.call('HSETNX', conversation, 'project', project)
  end
end

-- How many turns wait in a lane without the one being worked on, and with it; and its head.
local function waiting_in(lane)
  local head = redis.call('LINDEX', box_key(lane), 0)
  if not head then return 0, 0 end
  local is_running = redis.call('HGET', turn_key(head), 'step') ~= 'queued'
  local length = redis.call('LLEN', box_key(lane))
  return length - (is_running and 1 or 0), length, head
end

-- Record that messages were refused between two times (seconds, from their ts); stores at most `most` such stretches.
local function note_refusals(first, last, lifetime, most)
  redis.call('ZADD', refusing_key(), last, first .. ' ' .. last)
  redis.call('ZREMRANGEBYRANK', refusing_key(), 0, -1 - tonumber(most))
  redis.call('PEXPIRE', refusing_key(), lifetime)
end

-- Index the last activity of a bound thread. `forget` prunes the index; it lives as long as its threads.
local function note_activity(thread, ts, lifetime)
  if redis.call('ZADD', active_key(), 'GT', ts, thread) == 1 then redis.call('PEXPIRE', active_key(), lifetime) end
end

-- Record an outage (ms), to be caught up from Slack's history together with an earlier one that's still unread.
local function note_outage(first, last, lifetime, was_wiped)
  local key = catch_up_key()
  local seen = redis.call('HMGET', key, 'from', 'done', 'wiped')
  if seen[1] and not seen[2] then first, was_wiped = math.min(first, seen[1]), was_wiped or seen[3] end
  redis.call('DEL', key, unread_key())
  redis.call('HSET', key, 'v', VERSION, 'from', string.format('%d', first), 'to', string.format('%d', last))
  if was_wiped then redis.call('HSET', key, 'wiped', 1) end
  redis.call('PEXPIRE', key, lifetime)
end

-- The thread that a unit to read is, if it's one.
local function thread_of(unit) return string.match(unit, '^t:(.*)$') end

-- Mark `units`, each with the ts of its latest message, as unread from the `first` ts on, together with an outage that's
-- still unread. A reader that has copied them already notices, as the outage then has another end, which identifies it.
local function mark_unread(units, first, now, lifetime)
  local key, unread = catch_up_key(), unread_key()
  local last = tonumber(now) -- ms, as in the outage
  first = 1000 * first
  for unit, ts in pairs(units) do
    last = math.max(last, 1000 * ts + 1)
    redis.call('ZADD', unread, 'GT', ts, unit)
  end
  local seen = redis.call('HMGET', key, 'from', 'to', 'done')
  if seen[1] and not seen[3] then
    first, last = math.min(first, seen[1]), math.max(last, seen[2] + 1)
  else
    redis.call('DEL', key)
    redis.call('HSET', key, 'v', VERSION, 'planned', 1, 'threads', 1)
  end
  redis.call('HSET', key, 'from', string.format('%d', first), 'to', string.format('%d', last))
  redis.call('PEXPIRE', key, lifetime)
  redis.call('PEXPIRE', unread, lifetime)
end

-- Let new messages of a thread wait, for `ms` or as long as for others, until the message of this ts has arrived or was
-- looked for.
local function wait_for(thread, ts, ms)
  local key = unread_thread_key(thread)
  local known = redis.call('GET', key)
  if known then ms = math.max(ms, redis.call('PTTL', key)) end
  if not known or #known < 2000 then redis.call('SET', key, (known and known .. ' ' or '') .. ts, 'PX', ms) end
end

-- Whether a catch-up is under way.
local function is_catching_up()
  local seen = redis.call('HMGET', catch_up_key(), 'from', 'done')
  return seen[1] and not seen[2]
end

-- Park a lane: until people decide, it has work but no entry. Its texts aren't stored for longer than its thread (ms), even
-- if no process runs to discard them.
local function park(lane, head, lifetime)
  redis.call('HSET', parked_key(), lane, head)
  redis.call('PEXPIRE', box_key(lane), lifetime + GRACE)
  for _, id in ipairs(redis.call('LRANGE', box_key(lane), 0, -1)) do redis.call('PEXPIRE', turn_key(id), lifetime + GRACE) end
end

-- Let a parked lane continue.
local function unpark(lane)
  if redis.call('HDEL', parked_key(), lane) == 0 then return end
  redis.call('PERSIST', box_key(lane))
  for _, id in ipairs(redis.call('LRANGE', box_key(lane), 0, -1)) do redis.call('PERSIST', turn_key(id)) end
  activate(lane)
end

-- Discard the messages that wait in a lane, and let it continue. The first one's turn says why, to everyone or, if this is
-- to be said `privately`, the first of each author; the others just end.
local function discard(lane, why, privately)
  local first, counts = {}, {}
  for _, id in ipairs(redis.call('LRANGE', box_key(lane), 0, -1)) do
    local key = turn_key(id)
    local seen, ends = redis.call('HMGET', key, 'step', 'body'), end_of(key)
    if seen[1] == 'queued' and (not ends or is(ends, 'discarded')) then
      local is_read, body = pcall(cjson.decode, privately and seen[2] or '')
      local who = is_read and type(body) == 'table' and body.user or ''
      counts[who] = (counts[who] or 0) + 1
      if first[who] then end_as(key, 'withdrawn') end
      first[who] = first[who] or key
    end
  end
  for who, key in pairs(first) do end_as(key, 'discarded ' .. why .. ' ' .. counts[who]) end
  redis.call('HDEL', held_key(), lane)
  unpark(lane)
end

-- If `mark` belongs to a message that isn't a turn yet, return its newest known version, and whether that one has yet to
-- be decided about. '=': the message was deleted. '=<version>': that text isn't for an agent, so earlier ones are void.
-- '~<version>': its edit was refused, and Slack will resend that; or Slack's history has that text.
local function voids(mark)
  local sign, version = string.match(mark or '', '^([=~])(.*)$')
  if sign then return tonumber(version) or math.huge, sign == '~' end
end

-- Mark a turn whose message was deleted, or the first message of its thread (`what`: 'message' or 'thread'). One that waits
-- is withdrawn, and skipped once it's the head; the agent's work on one is stopped, even between the parts of its answer.
-- A run (it has a note) can't be undone, and only its person gets to see its card.
local function delete_turn(turn, what)
  local key = turn_key(turn)
  local seen = redis.call('HMGET', key, 'step', 'lane', 'note')
  if not seen[1] then return 'late' end -- its record has expired
  local is_queued = seen[1] == 'queued'
  if seen[3] and (seen[1] == 'sent' or seen[1] == 'posting') and not is(end_of(key), 'stopped') then
    end_as(key, 'private')
    return 'late'
  end
  end_as(key, 'deleted ' .. what)
  if seen[1] == 'done' or seen[1] == 'dead' then -- no button sends or shows it again
    redis.call('HDEL', key, 'body', 'note', 'outcome', 'edited')
    redis.call('ZREM', dead_key(), turn)
    return 'late'
  end
  if redis.call('HGET', parked_key(), seen[2]) == turn then unpark(seen[2]) end
  redis.pcall('PUBLISH', stops_key(), turn)
  return is_queued and 'withdrawn' or 'stopped'
end

-- End the conversation of a thread whose first message was deleted.
local function end_conversation(thread)
  local lane, conversation = 't:' .. thread, thread_key(thread)
  local head = redis.call('LINDEX', box_key(lane), 0)
  if redis.call('DEL', conversation) == 0 and not head then return end
  redis.call('ZREM', active_key(), thread)
  redis.call('SET', looked_key(thread), 1, 'PX', ENDED) -- and isn't found again in its answers
  if head and redis.call('HGET', turn_key(head), 'step') ~= 'queued' then delete_turn(head, 'thread') end
  discard(lane, 'deleted', true)
end

-- Withdraw a deleted message, or stop the work on it. If it isn't a turn yet, it leaves a mark for `lifetime` (ms, '':
-- none), since Slack may resend it; during a catch-up, which may already have read the message, it always does.
local function withdraw(message, lifetime, thread)
  local mark = seen_message_key(message)
  redis.call('DEL', draft_key(message), unsent_key(message))
  local turn = redis.call('GET', mark)
  local is_turn = turn and not voids(turn)
  thread = is_turn and redis.call('HGET', turn_key(turn), 'thread') or thread
  local result = is_turn and delete_turn(turn, thread == message and 'thread' or 'message')
  local said = result ~= 'late' and redis.call('HGET', thread_key(thread), 'said')
  if said then redis.call('HSET', thread_key(thread), 'said', with_said(said, string.match(message, '[^:]*$'), '')) end
  end_conversation(message) -- a thread is named by its first message
  if result then return result end
  if lifetime == '' and is_catching_up() then lifetime = 1000 * YOUNG end
  if lifetime ~= '' then redis.call('SET', mark, '=', 'PX', lifetime) end
  return 'unknown'
end

-- Store which turn a message of the bot's shows, and in a direct message its person, so that it's found to erase.
local function show(message, turn, person, lifetime)
  local is_direct = person ~= '' and string.match(message, '^[^:]*:D')
  redis.call('SET', shown_key(message), is_direct and turn .. ' ' .. person or turn, 'PX', lifetime)
end

-- Resume a lane held by a stop. A stop holds the turns waiting after the stopped one until someone resumes them; a lane
-- that is held and parked is parked for that reason only. Returns whether the lane was held.
local function resume(lane)
  if redis.call('HDEL', held_key(), lane) == 0 then return false end
  unpark(lane)
  return true
end

-- Add the lane's entry after its head was popped, if another one is its `head` now. A held lane is parked instead, unless
-- that turn's end is decided, since it only has to be finished.
local function activate_next(lane, lifetime, head)
  if not head then
    redis.call('HDEL', held_key(), lane)
  elseif redis.call('HEXISTS', held_key(), lane) == 1 and not end_of(turn_key(head)) then
    park(lane, head, lifetime)
  else
    activate(lane)
  end
end

-- Retire the entry, whichever consumer holds it.
local function retire(entry)
  redis.call('XACK', READY, GROUP, entry)
  redis.call('XDEL', READY, entry)
end

-- The fence: whether the lane's entry is pending for this consumer (and the turn is the head of its lane).
-- A worker that fails this check was presumed dead and must change nothing; the same goes for one that finds no group,
-- because the store was wiped. Also returns how often the entry was delivered, and the turn after this one.
local function owns(entry, consumer, lane, turn)
  local pending = redis.pcall('XPENDING', READY, GROUP, entry, entry, 1)
  if pending.err or #pending == 0 or pending[1][2] ~= consumer then return false end
  if turn == nil then return true, pending[1][4] end
  local first = redis.call('LRANGE', box_key(lane), 0, 1)
  return first[1] == turn, pending[1][4], first[2]
end

-- Take back what the request of a turn was counted for, once; a window that has begun since isn't touched.
local function give_back(key, limits)
  local window = string.gmatch(redis.call('HGET', key, 'counted') or '', '%S+')
  for _, limit in ipairs(limits) do
    local counter = used_key(limit[1])
    if redis.call('HGET', counter, 'since') == window() then redis.call('HINCRBY', counter, 'n', -limit[4]) end
  end
  redis.call('HDEL', key, 'counted')
end

-- Make one write (`bridge.queue.writes`).
local function make(write)
  local how, key, ms = write[1], write[2], write[3]
  local answer
  if how == 'set' then answer = redis.call('SET', key, write[4])
  elseif how == 'delete' then answer = redis.call('DEL', key, unpack(write, 4))
  elseif how == 'field' then answer = redis.call('HSET', key, write[4], write[5])
  elseif how == 'field if' then -- the field still has the value the caller saw
    answer = (redis.call('HGET', key, write[4]) or '') == write[6] and redis.call('HSET', key, write[4], write[5])
  elseif how == 'field max' then -- a number that only grows, and the fields that go with it
    answer = tonumber(write[5]) > tonumber(redis.call('HGET', key, write[4]) or '0')
      and redis.call('HSET', key, unpack(write, 4))
  elseif how == 'push' then -- at the front; only the first entries stay
    answer = redis.call('LPUSH', key, write[4])
    redis.call('LTRIM', key, 0, write[5] - 1)
  elseif how == 'rank' then -- a member with its score; only the highest stay
    answer = redis.call('ZADD', key, write[5], write[4])
    if write[6] > 0 and answer == 1 then redis.call('ZREMRANGEBYRANK', key, 0, -write[6] - 1) end
  elseif how == 'unrank' then answer = redis.call('ZREM', key, write[4])
  elseif how == 'count' then answer = redis.call('HINCRBY', key, write[4], write[5])
  elseif how == 'distinct' then answer = redis.call('PFADD', key, unpack(write, 4))
  elseif how == 'trim' then answer = redis.call('XTRIM', key, 'MINID', write[4])
  elseif how == 'queue' then -- a turn in its own lane, once
    if redis.call('EXISTS', key) == 1 then return 0 end
    answer = redis.call('HSET', key, 'v', write[10], 'lane', write[5], 'step', 'queued', 'at', write[6], 'kind', write[7],
      'body', write[8], 'log', write[9])
    redis.call('RPUSH', box_key(write[5]), write[4])
    activate(write[5])
  elseif how == 'give back' then answer = give_back(key, cjson.decode(write[4]))
  elseif how == 'append' then -- to a stream, trimmed to about write[4] entries
    answer = redis.call('XADD', key, 'MAXLEN', '~', write[4], '*', unpack(write, 5))
  else error('no such write: ' .. how) end
  if ms > 0 then redis.call('PEXPIRE', key, ms) end
  return answer
end

-- Whether each field has its value ('': it's absent).
local function holds(guard)
  for at = 5, #guard, 2 do
    if (redis.call('HGET', guard[2], guard[at]) or '') ~= guard[at + 1] then return false end
  end
  return true
end

-- Make a step's writes: a list, as JSON or decoded, or '' for none. An 'if' that doesn't hold skips the writes it guards.
-- Returns Redis's answer to each write ('': not made).
local function apply(writes)
  local answers, left_out = {}, 0
  if type(writes) == 'string' then writes = writes ~= '' and cjson.decode(writes) or {} end
  for _, write in ipairs(writes) do
    local answer
    if left_out > 0 then left_out = left_out - 1
    elseif write[1] ~= 'if' then answer = make(write)
    elseif holds(write) then answer = 'holds'
    else left_out = write[4] end
    answers[#answers + 1] = answer and tostring(answer) or ''
  end
  return answers
end

-- Limits, where those of a project count in that one.
local function of_project(limits, project)
  for _, limit in ipairs(limits) do limit[1] = limit[5] and project ~= '' and limit[1] .. ':' .. project or limit[1] end
  return limits
end
-- Limits, each {counter, most, window (ms), amount}: the number of the first that's used up, and its counter; or nil.
-- A window begins with its first count, and is named by that: `since`.
local function used_up(limits)
  for number, limit in ipairs(limits) do
    limit.key = used_key(limit[1])
    local seen = redis.call('HMGET', limit.key, 'n', 'since')
    limit.since = seen[2]
    if tonumber(seen[1] or '0') >= limit[2] then return number, limit.key end
  end
end
-- Count for limits that `used_up` has seen. Returns the windows, each named by its first `mark`, and the number of a limit
-- that's now used up by 80%, if any, with what's left of it.
local function count(limits, mark)
  local windows, near, left = {}, nil, nil
  for number, limit in ipairs(limits) do
    local most, used = limit[2], redis.call('HINCRBY', limit.key, 'n', limit[4])
    windows[number] = limit.since or mark
    if not limit.since then
      redis.call('HSET', limit.key, 'since', mark)
      redis.call('PEXPIRE', limit.key, limit[3])
    end
    if used >= 0.8 * most and used - limit[4] < 0.8 * most then near, left = number, math.max(0, most - used) end
  end
  return windows, near, left
end
