-- Mark a message as seen AND queue its turn, or neither.
-- ARGV: turn, lane, event identity or '', message identity or '', condition, thread or '', waiting limit,
--       now (ms), seen (ms), thread lifetime (ms), body, agent or '',
--       deadline by this server's clock (ms) or '', inbound kind,
--       turns per minute of the thread, the person, and turns per minute of that person (0: no limit),
--       a line for the trace on how it arrived, lifetime of the message's mark (ms),
--       the person speaking to the agent or '', version of the text or '', Slack won't resend the message ('1'),
--       writes to make in this step (the prelude's `apply`); if the first is an 'if' that doesn't hold, nothing is stored,
--       the message was found in Slack's history ('1'),
--       the person who has written in a channel's thread or '', and when (ts),
--       only what the person writes to whom the agent is talking counts ('1'),
--       a free worker to hand the lane to or '', and that worker's arguments for the prelude's `look_at_head`.
-- This script knows one feature's record, the conversation of a thread, because the queue must know whether a lane's
-- thread is bound, is muted, has several speakers, and who has written there. Generic arguments would be conditions over fields, each with the
-- name of its refusal, and a conditional update, and the same again in sent.lua and look_at_head: more to read than the
-- five fields, and more JSON with each message.
-- A late message goes before newer ones that no worker has started.
-- condition: 'none'; 'start' binds the thread; 'bound': the thread must be bound; 'search': it mustn't have been searched
--            yet.
-- Returns {'queued', turns waiting before it, all turns before it including the running one}, and if a worker got a lane,
--          its entry, the lane, and the head if that's this turn | {'duplicate', turn} | {'full'} | {'unbound'} | {'late'}
--          | {'void', 'deleted' or 'edited' since} | {'newer'}: its new text was refused and will be resent
--          | {'early'}: its thread's first message was refused and will be resent | {'deferred'}: its thread will be read
--          | {'muted'} | {'paused', 'thread' or 'person', ms left, '1' for the first refusal} | {'stale'}: see the writes
--          | {'others', '1' if its author was notified here before}: the agent is talking with someone else, or others have
--            written since it got its author's last message.
local turn, lane, event, message, condition, thread = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local limit, now, seen_ms, thread_ms, body = tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10], ARGV[11]
local agent = ARGV[12]
if ARGV[13] ~= '' then
  local clock = redis.call('TIME')
  if clock[1] * 1000 + math.floor(clock[2] / 1000) > tonumber(ARGV[13]) then return {'late'} end
end

-- A command's first use after a pause costs ten times as much as its second, and such first uses are most of this script's
-- time: hence as few different commands as possible.
local text_version, is_last, was_found, worker = ARGV[21], ARGV[22] == '1', ARGV[24] == '1', ARGV[28]
local person, said_at, is_auto = ARGV[25], ARGV[26], ARGV[27] == '1'
local event_mark, message_mark = seen_event_key(event), seen_message_key(message)
-- An absent identity ('') makes a key that never exists.
local known = redis.call('MGET', refused_key(turn), event_mark, message_mark, seen_message_key(thread), unread_thread_key(thread))
if known[1] then return {'late'} end
local since, is_pending = voids(known[3])
if since and (tonumber(text_version) or 0) < since then
  if was_found or not is_pending then return {'void', since == math.huge and 'deleted' or 'edited'} end
  if not is_last then return {'newer'} end
end
local earlier = known[2] or not since and known[3]
if earlier then
  local came = redis.call('HGET', turn_key(earlier), 'came')
  if came and #came < 2000 then redis.call('HSET', turn_key(earlier), 'came', came .. '\n' .. ARGV[18]) end
  return {'duplicate', earlier}
end

-- Find where a late message goes: before the first waiting turn that was written after it, but not before a turn queued at
-- the end on purpose (it has no 'ts'), nor before a head that a worker holds or that was stopped. No worker holds a parked
-- head, nor one that waits until its thread has been read (`Turns`). Also returns how many turns the message overtakes.
local function overtaken_by(written)
  local first, count = nil, 0
  for place = -1, -redis.call('LLEN', box_key(lane)), -1 do
    local id = redis.call('LINDEX', box_key(lane), place)
    local seen = redis.call('HMGET', turn_key(id), 'ts', 'step', 'takes', 'withdrawn', 'unread')
    if seen[2] ~= 'queued' or (tonumber(seen[1] or '') or 0) <= written then break end
    if redis.call('LINDEX', box_key(lane), 0) == id
        and (seen[4] or (seen[3] and not (seen[5] and known[5]) and redis.call('HGET', parked_key(), lane) ~= id)) then
      break
    end
    first, count = id, count + 1
  end
  return first, count
end

local conversation, speaker = thread_key(thread), ARGV[20]
local talk = redis.call('HMGET', conversation, 'v', 'muted', 'speaker', 'since', 'said', 'several')
local ts, root = string.match(message, '[^:]*$'), string.match(thread, '[^:]*$')

-- Whether messages were refused when this one was written, give or take a second.
local function was_refused(written)
  local ends = redis.call('ZRANGEBYSCORE', refusing_key(), string.format('%.6f', written - 1), '+inf')
  for _, stretch in ipairs(ends) do
    if tonumber(string.match(stretch, '^%S+')) <= written + 1 then return true end
  end
  return false
end

-- Whether its thread's first message was refused, and Slack will resend it.
local function is_early()
  local written, started = tonumber(ts), tonumber(root)
  local is_unseen = not known[4] or select(2, voids(known[4]))
  return is_unseen and written and started and written - started < YOUNG and was_refused(started)
end

-- Whether the agent is talking with the person: it got a message of theirs last, and no one else has written since.
local function is_talking_with(said)
  local partner, is_alone = not talk[6] and (talk[3] or person), true -- the thread may be older than `said`
  for when, who, sent in string.gmatch(said, '(%S+) (%S+) (%S)') do
    if tonumber(when) >= tonumber(said_at) then break end
    if sent == '1' then partner, is_alone = who, true
    elseif who ~= partner then is_alone = false end
  end
  return partner == person and is_alone
end

if condition == 'bound' and not talk[1] then
  if not is_early() then return {'unbound'} end
  if not is_last then return {'early'} end
  mark_unread({['t:' .. thread] = tonumber(ts)}, root, now, ARGV[19])
  wait_for(thread, ts, 1000 * YOUNG)
  return {'deferred'}
end
-- Messages written before the bot was called into the thread aren't for it, however late they arrive.
if (condition == 'bound' or condition == 'search') and ts ~= '' and tonumber(ts) < (tonumber(talk[4] or '') or 0) then
  return {'unbound'}
end
if condition == 'search' and redis.call('EXISTS', looked_key(thread)) == 1 then return {'unbound'} end
local said, is_notice = talk[5] or '', ARGV[14] == 'notice'
if person ~= '' and talk[1] then
  said = with_said(said, said_at, person, (talk[2] or (is_notice and not is_auto)) and 'x' or '0')
  redis.call('HSET', conversation, 'said', said)
end
if speaker ~= '' and talk[2] then return {'muted'} end
if is_auto and talk[1] and not is_talking_with(said) then
  return {'others', redis.call('HEXISTS', conversation, 'told:' .. person)}
end
local waiting, length = waiting_in(lane)
if waiting >= limit then return {'full'} end
local minute, paces = 60000, {}
if ARGV[15] ~= '0' then paces[#paces + 1] = {'thread', thread_pace_key(thread), tonumber(ARGV[15])} end
if ARGV[17] ~= '0' then paces[#paces + 1] = {'person', person_pace_key(ARGV[16]), tonumber(ARGV[17])} end
for _, pace in ipairs(paces) do
  if is_used_up(pace[2], pace[3]) then
    local counted = count(pace[2], minute)
    return {'paused', pace[1], redis.call('PTTL', pace[2]), counted == pace[3] + 1 and '1' or '0'}
  end
end
if ARGV[23] ~= '' and apply(ARGV[23])[1] == '' then return {'stale'} end
for _, pace in ipairs(paces) do count(pace[2], minute) end

local starts, is_chosen = condition == 'start' and not talk[1] and agent == '', false
if condition == 'start' then
  if not talk[1] then
    redis.call('HSET', conversation, 'v', VERSION)
    if ts ~= '' and ts ~= root then -- an edit may have called the bot in, unless it overtook its refused message
      local is_by_edit = (tonumber(text_version) or 0) > tonumber(ts) and not was_refused(tonumber(ts))
      redis.call('HSET', conversation, 'since', is_by_edit and text_version or ts)
    end
  end
  is_chosen = agent ~= '' and redis.call('HSETNX', conversation, 'agent', agent) == 1
end
if condition == 'start' or condition == 'bound' then
  if speaker ~= '' and not talk[3] then
    redis.call('HSET', conversation, 'speaker', speaker)
  elseif speaker ~= '' and talk[3] ~= speaker then
    redis.call('HSET', conversation, 'several', 1) -- from now on, messages to the agent name their author
  end
  if person ~= '' and not is_notice then
    redis.call('HSET', conversation, 'said', with_said(said, said_at, person, '1'))
  end
  redis.call('PEXPIRE', conversation, thread_ms)
  note_activity(thread, ts ~= '' and ts or now / 1000, thread_ms)
end
if event ~= '' then redis.call('SET', event_mark, turn, 'PX', seen_ms) end
if message ~= '' then redis.call('SET', message_mark, turn, 'PX', ARGV[19]) end
if known[5] then no_longer_wait_for(thread, known[5], ts) end
local record = {'v', VERSION, 'lane', lane, 'step', 'queued', 'at', now, 'body', body, 'thread', thread,
  'kind', ARGV[14], 'came', ARGV[18]}
local first, overtaken = nil, 0
if text_version ~= '' then add(record, 'version', text_version) end
if ts ~= '' then add(record, 'ts', ts) end
if ts ~= '' and waiting > 0 then first, overtaken = overtaken_by(tonumber(ts)) end
waiting = waiting - overtaken
local ahead = length - overtaken
if first then add(record, 'overtakes', overtaken) end
if ahead > 0 then add(record, 'behind', ahead) end
if starts then add(record, 'starts', 1) end -- its text may choose the agent
if known[5] and not was_found then add(record, 'unread', 1) end
if condition == 'search' then add(record, 'searches', 1) end
redis.call('HSET', turn_key(turn), unpack(record))
if first then
  redis.call('LINSERT', box_key(lane), 'BEFORE', first, turn)
  if redis.call('HGET', parked_key(), lane) == first then redis.call('HSET', parked_key(), lane, turn) end
else
  redis.call('RPUSH', box_key(lane), turn)
end
if length == 0 then
  activate(lane)
  local entry, woken = next_for(worker)
  if woken == lane then return {'queued', waiting, ahead, entry, lane, look_at_head(turn, worker, 1, {unpack(ARGV, 29)})} end
  if entry then return {'queued', waiting, ahead, entry, woken} end -- a lane that has waited longer
else -- a new message after a stop resumes the lane; one written before the stop doesn't
  local held = redis.call('HGET', held_key(), lane)
  if held and (tonumber(ts) or 0) > tonumber(held) then resume(lane) end
  local head = redis.call('HGET', parked_key(), lane)
  if head and is_chosen and redis.call('HEXISTS', held_key(), lane) == 0 then
    unpark(lane) -- it waited for this choice
  elseif head then
    park(lane, head, thread_ms)
  end
end
return {'queued', waiting, ahead}
