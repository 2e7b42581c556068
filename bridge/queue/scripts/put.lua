-- Mark a message as seen AND queue its turn, or neither. A late message goes before newer ones that no worker has started.
-- ARGV: the arrival as JSON (`Inbox.put_arrival`), its turn's body.
-- Returns {'queued', turns waiting before it, all turns before it including the running one}, and if a worker got a lane,
--          its entry, the lane, and the head if that's this turn; or another end and its facts (`NotQueued`): the fact, the
--          wait in ms, and 1 if it's the first. 'late': it mustn't be stored any more.
-- A command's first use after a pause costs ten times as much as its second: hence as few different commands as possible.

-- Hand the longest-waiting lane to a free worker, if there is one. Returns the lane's entry and the lane, nothing if none waits.
local function next_for(worker)
  if not worker then return end
  local streams = redis.pcall('XREADGROUP', 'GROUP', GROUP, worker, 'COUNT', 1, 'STREAMS', READY, '>')
  if not streams or streams.err then return end -- no group: the store was wiped
  local entry = streams[1][2][1]
  return entry[1], entry[2][2]
end

-- Whether the agent is talking with a person: it got a message of theirs last (`partner`, if `said` doesn't say), and no
-- one else has written since, before the time `at`, unless `others_may_write`.
local function is_talking_with(person, at, said, partner, others_may_write)
  local is_alone = true
  for when, who, sent in string.gmatch(said, '(%S+) (%S+) (%S)') do
    if tonumber(when) >= tonumber(at) then break end
    if sent == '1' then partner, is_alone = who, true
    elseif who ~= partner then is_alone = false end
  end
  return partner == person and (is_alone or others_may_write)
end

-- Find where a late message goes: before the first waiting turn that was written after it, but not before a turn queued at
-- the end on purpose (it has no 'ts'), nor before a head that a worker holds or that was stopped. No worker holds a parked
-- head, nor one that waits until its thread has been read (`TurnProcessor`). Also returns how many turns the message overtakes.
local function overtaken_by(lane, written, is_unread)
  local first, count = nil, 0
  for place = -1, -redis.call('LLEN', box_key(lane)), -1 do
    local id = redis.call('LINDEX', box_key(lane), place)
    local seen = redis.call('HMGET', turn_key(id), 'ts', 'step', 'takes', 'unread')
    if seen[2] ~= 'queued' or (tonumber(seen[1] or '') or 0) <= written then break end
    local is_taken = seen[3] and not (seen[4] and is_unread) and redis.call('HGET', parked_key(), lane) ~= id
    if redis.call('LINDEX', box_key(lane), 0) == id and (is_taken or end_of(turn_key(id))) then break end
    first, count = id, count + 1
  end
  return first, count
end

-- Whether messages were refused when one was written, give or take a second.
local function was_refused(written)
  local ends = redis.call('ZRANGEBYSCORE', refusing_key(), string.format('%.6f', written - 1), '+inf')
  for _, stretch in ipairs(ends) do
    if tonumber(string.match(stretch, '^%S+')) <= written + 1 then return true end
  end
end

-- The changes of a conversation's record by an arrival that joins it. `put` knows this one feature's record, because the
-- queue must know whether a lane's thread is bound, is muted, has several speakers, and who has written there. Generic
-- arguments would be conditions over fields with a refusal for each, a conditional update, and the same again in sent.lua
-- and take.lua.
local function joined(a, talk, ts)
  local changes, speaker = {}, talk.speaker
  if not talk.v then
    add(changes, 'v', VERSION)
    if a.project and not talk.project then add(changes, 'project', a.project) end -- a report's thread has one
    if ts ~= '' and a.message ~= a.thread then -- an edit may have called the bot in, unless it overtook its refused message
      local is_by_edit = (tonumber(a.version) or 0) > tonumber(ts) and not was_refused(tonumber(ts))
      add(changes, 'since', is_by_edit and a.version or ts)
    end
  elseif talk.since and a.message == a.thread and not a.version then
    add(changes, 'since', ts) -- the first message, which is late, had called the bot in
  end
  if a.speaker and not speaker then add(changes, 'speaker', a.speaker)
  elseif a.speaker and a.speaker ~= speaker then add(changes, 'several', 1) end -- messages to the agent name their author
  return changes
end

-- Let the messages of a thread wait no longer for the one of this ts (the prelude's `wait_for`).
local function no_longer_wait_for(thread, known, ts)
  local left = {}
  for other in string.gmatch(known, '%S+') do if other ~= ts then left[#left + 1] = other end end
  if #left == 0 then redis.call('DEL', unread_thread_key(thread))
  else redis.call('SET', unread_thread_key(thread), table.concat(left, ' '), 'KEEPTTL') end
end

local a, body = cjson.decode(ARGV[1]), ARGV[2]
local turn, lane, message, thread, condition = a.turn, a.lane, a.message or '', a.thread or '', a.condition
if a.deadline and clock() > a.deadline then return {'late'} end

-- An absent identity ('') makes a key that never exists.
local conversation = thread_key(thread)
local talk = by_field(redis.call('HGETALL', conversation))
local project = talk.project or (not talk.v and a.project) or '' -- a thread keeps its own
local known = redis.call('MGET', seen_event_key(a.event or ''), seen_message_key(message), seen_message_key(thread),
  unread_thread_key(thread))
local unread = known[4] -- its thread has yet to be read
local since, is_pending = voids(known[2])
if since and (tonumber(a.version) or 0) < since then
  if a.was_found or not is_pending then return {since == math.huge and 'deleted' or 'edited'} end
  if not a.is_last then return {'newer'} end
end
local ts, root = string.match(message, '[^:]*$'), string.match(thread, '[^:]*$')
-- Replies may have overtaken a first message that Slack sent again: its thread is read from history. An edit may have
-- called the bot in only after them.
local is_again = a.is_resent and condition == 'start' and message == thread and not a.version and not a.was_found
local function read_again()
  mark_unread({['t:' .. thread] = a.now / 1000}, ts, a.now, a.marked_ms)
  if not unread then wait_for(thread, ts, 60000) end -- for as long as for a refused message; perhaps nothing is missing
end
local earlier = known[1] or not since and known[2]
if earlier then
  local seen = redis.call('HMGET', turn_key(earlier), 'log', 'version', 'resent')
  if seen[1] then redis.call('HSET', turn_key(earlier), 'log', with_line(seen[1], a.came, REPEATED)) end
  if is_again and seen[2] and not seen[3] and talk.v then -- its edit was first, and nobody knew of the killed process then
    redis.call('HSET', turn_key(earlier), 'resent', 1)
    read_again()
  end
  return {'duplicate', earlier}
end

local is_bound, is_muted, speaker, is_notice = talk.v, talk.muted, talk.speaker, a.kind == 'notice'
if condition == 'bound' and not is_bound then
  local is_unseen = not known[3] or select(2, voids(known[3]))
  local written, started = tonumber(ts), tonumber(root)
  local is_early = is_unseen and written and started and written - started < YOUNG and was_refused(started)
  if not is_early then return {'unbound'} end -- else Slack will resend the thread's first message
  mark_unread({['t:' .. thread] = written}, root, a.now, a.marked_ms) -- later replies wait for it
  wait_for(thread, ts, a.is_last and 1000 * YOUNG or 60000)
  return {a.is_last and 'deferred' or 'early'}
end
-- Messages written before the bot was called into the thread aren't for it, however late they arrive.
local is_before = (tonumber(ts) or math.huge) < (tonumber(talk.since or '') or 0)
if is_before and (condition == 'bound' or condition == 'search') then return {'unbound'} end
if condition == 'search' and redis.call('EXISTS', looked_key(thread)) == 1 then return {'unbound'} end
local waiting, length, head = waiting_in(lane)
local menu = a.may_choose and head and not talk.agent and redis.call('HGET', parked_key(), lane) == head
  and redis.call('HGET', turn_key(head), 'card')
if menu then return {'menu', menu} end

local said, unsent, agent = talk.said or '', (is_muted or (is_notice and not a.is_auto)) and 'x' or '0', talk.agent
local is_pressed = a.is_auto and message == '' -- an option: nothing was written, and it can't be meant for anyone else
local function unless_queued(...) -- it was written there all the same
  if is_bound and a.author and not is_pressed then
    redis.call('HSET', conversation, 'said', with_said(said, a.said_at, a.author, unsent))
  end
  return {...}
end
if a.speaker and is_muted then return unless_queued('muted') end
local partner = not talk.several and (speaker or a.author)
if a.is_auto and is_bound and not is_talking_with(a.author, a.said_at, said, partner, is_pressed) then
  return unless_queued('others', '', 0, talk['told:' .. a.author] and 0 or 1)
end
if waiting >= a.limit then return unless_queued('full') end
local limits = of_project(a.limits or {}, project)
local number, counter = used_up(limits)
if number then
  local is_first = redis.call('HSETNX', counter, 'told', 1) -- this is the first one that it refuses
  return unless_queued('paused', number, redis.call('PTTL', counter), is_first)
end
if a.writes and apply(a.writes)[1] == '' then return unless_queued('stale') end
count(limits, turn)

local is_talk, is_chosen = condition == 'start' or condition == 'bound', condition == 'start' and a.agent and not agent
local changes = is_talk and joined(a, talk, ts) or {}
if is_chosen then add(changes, 'agent', a.agent) end
if a.author and (is_bound or (is_talk and not is_notice)) then
  add(changes, 'said', with_said(said, a.said_at, a.author, is_talk and not is_notice and '1' or unsent))
end
if #changes > 0 then redis.call('HSET', conversation, unpack(changes)) end
if is_talk then
  redis.call('PEXPIRE', conversation, a.session_ms)
  note_activity(thread, ts ~= '' and ts or a.now / 1000, a.session_ms)
end
if message ~= '' then redis.call('SET', seen_message_key(message), turn, 'PX', a.marked_ms)
elseif a.event then redis.call('SET', seen_event_key(a.event), turn, 'PX', a.seen_ms) end
if unread then no_longer_wait_for(thread, unread, ts) end
is_again = is_again and (not is_bound or talk.since) -- a later mention may have begun the conversation without it
if is_again then read_again() end

local first, overtaken, entry, woken = nil, 0, nil, nil
if ts ~= '' and waiting > 0 then first, overtaken = overtaken_by(lane, tonumber(ts), unread) end
local ahead = length - overtaken
local log = a.came
if ahead > 0 or first then log = with_line(log, a.now .. ' - queued ' .. ahead .. ' ' .. overtaken) end
local record = {'v', a.v, 'lane', lane, 'step', 'queued', 'at', a.now, 'thread', thread, 'kind', a.kind}
for name, value in pairs({
  version = a.version, ts = ts ~= '' and ts, traceparent = a.traceparent,
  starts = condition == 'start' and not is_bound and not a.agent and 1, -- its text may choose the agent
  searches = condition == 'search' and 1, unread = (unread or is_again) and not a.was_found and 1,
}) do if value then add(record, name, value) end end
if length == 0 then
  activate(lane)
  entry, woken = next_for(a.worker)
  if woken == lane then
    log = with_line(log, a.now .. ' ' .. a.worker .. ' took')
    add(record, 'takes', 1)
    add(record, 'token', a.token)
  end
end
add(record, 'log', log)
redis.call('HSET', turn_key(turn), 'body', body, unpack(record)) -- the caller knows the body
if first then redis.call('LINSERT', box_key(lane), 'BEFORE', first, turn) else redis.call('RPUSH', box_key(lane), turn) end
if length > 0 then -- a new message after a stop resumes the lane; one written before the stop doesn't
  local held, parked = redis.call('HGET', held_key(), lane), redis.call('HGET', parked_key(), lane)
  if held and (tonumber(ts) or 0) > tonumber(held) then resume(lane)
  elseif parked and is_chosen and not held then unpark(lane) -- it waited for this choice
  elseif parked then park(lane, first == parked and turn or parked, a.session_ms) end
end
if woken ~= lane then return {'queued', waiting - overtaken, ahead, entry, woken} end
for at = 1, #changes, 2 do talk[changes[at]] = changes[at + 1] end
local fields = {}
for name, value in pairs(talk) do add(fields, name, value) end
return {'queued', waiting, ahead, entry, woken, {'turn', turn, record, fields, 1}}
