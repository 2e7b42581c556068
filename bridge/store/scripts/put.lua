-- Mark as seen AND queue, or neither.
-- ARGV: turn, lane, event identity or '', message identity or '', condition, thread or '', waiting limit,
--       now (ms), seen (ms), thread lifetime (ms), body, nothing to decide ('1'), agent or '',
--       end of its time by this server's clock (ms) or '', kind of what came in,
--       turns that a thread may begin in a minute, the person and the turns that they may begin (0: not limited),
--       a line for the trace on how it came, lifetime of the message's mark (ms),
--       who speaks to the agent with it or '', the worker that is free for it or '', and how that one looks at a head
--       (the prelude's `look_at_head`).
-- condition: 'none'; 'start' binds the thread; 'bound' wants it bound; 'search' wants it not yet searched.
-- Returns {'queued', waiting before it, all before it: the one in work too}, and where a worker has got a lane by it,
--          its entry, the lane, and the head if that is this turn | {'duplicate', turn} | {'full'} | {'unbound'} | {'late'}
--          | {'muted'} | {'paused', 'thread' or 'person', ms until it goes on, '1' for the first that is refused}.
local turn, lane, event, message, condition, thread = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local limit, now, seen_ms, thread_ms, body, plain = tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local agent = ARGV[13]
if ARGV[14] ~= '' then
  local clock = redis.call('TIME')
  if clock[1] * 1000 + math.floor(clock[2] / 1000) > tonumber(ARGV[14]) then return {'late'} end
end
local worker = ARGV[22]
if worker ~= '' and redis.call('EXISTS', refusal_of(turn)) == 1 then return {'late'} end

local marks = {}
if event ~= '' then marks[#marks + 1] = {prefix .. 'seen:e:' .. event, seen_ms} end
if message ~= '' then marks[#marks + 1] = {prefix .. 'seen:m:' .. message, ARGV[20]} end
for _, mark in ipairs(marks) do
  local earlier = redis.call('GET', mark[1])
  if earlier then
    local came = redis.call('HGET', turn_of(earlier), 'came')
    if came and #came < 2000 then redis.call('HSET', turn_of(earlier), 'came', came .. '\n' .. ARGV[19]) end
    return {'duplicate', earlier}
  end
end

local conversation = prefix .. 'thread:' .. thread
if condition == 'bound' and redis.call('EXISTS', conversation) == 0 then return {'unbound'} end
if condition == 'search' and redis.call('EXISTS', prefix .. 'looked:' .. thread) == 1 then return {'unbound'} end
local talks = ARGV[21] ~= ''
if talks and redis.call('HEXISTS', conversation, 'muted') == 1 then return {'muted'} end
local waiting = waiting_in(lane)
if waiting >= limit then return {'full'} end
local minute, paces = 60000, {}
if ARGV[16] ~= '0' then paces[#paces + 1] = {'thread', prefix .. 'pace:t:' .. thread, tonumber(ARGV[16])} end
if ARGV[18] ~= '0' then paces[#paces + 1] = {'person', prefix .. 'pace:u:' .. ARGV[17], tonumber(ARGV[18])} end
for _, pace in ipairs(paces) do
  if is_used_up(pace[2], pace[3]) then
    local counted = count(pace[2], minute)
    return {'paused', pace[1], redis.call('PTTL', pace[2]), counted == pace[3] + 1 and '1' or '0'}
  end
end
for _, pace in ipairs(paces) do count(pace[2], minute) end

local starts = false
if condition == 'start' then
  starts = redis.call('HSETNX', conversation, 'v', 1) == 1 and agent == ''
  if agent ~= '' then redis.call('HSETNX', conversation, 'agent', agent) end
end
if condition == 'start' or condition == 'bound' then
  if ARGV[21] ~= '' and redis.call('HSETNX', conversation, 'speaker', ARGV[21]) == 0
     and redis.call('HGET', conversation, 'speaker') ~= ARGV[21] then
    redis.call('HSET', conversation, 'several', 1) -- from now on the agent is told who speaks
  end
  redis.call('PEXPIRE', conversation, thread_ms)
end
for _, mark in ipairs(marks) do redis.call('SET', mark[1], turn, 'PX', mark[2]) end
local since_2 = {report = true, home = true, shortcut = true}
local version = since_2[ARGV[15]] and 2 or 1 -- of the first release that can read it
redis.call('HSET', turn_of(turn), 'v', version, 'lane', lane, 'step', 'queued', 'at', now, 'body', body, 'thread', thread,
  'kind', ARGV[15], 'came', ARGV[19])
if waiting > 0 then redis.call('HSET', turn_of(turn), 'behind', waiting) end
if starts then redis.call('HSET', turn_of(turn), 'starts', 1) -- its words may choose the agent
elseif plain == '1' then redis.call('HSET', turn_of(turn), 'plain', 1) end
if condition == 'search' then redis.call('HSET', turn_of(turn), 'searches', 1) end
local ahead = redis.call('RPUSH', box_of(lane), turn) - 1
if ahead == 0 then
  activate(lane)
  local entry, woken = next_for(worker)
  if woken == lane then return {'queued', waiting, ahead, entry, lane, look_at_head(turn, worker, 1, {unpack(ARGV, 23)})} end
  if entry then return {'queued', waiting, ahead, entry, woken} end -- one that has waited for longer
else -- who writes on after a stop wants to go on; what was written before it and comes late does not count
  local held = redis.call('HGET', prefix .. 'held', lane)
  if held and (tonumber(string.match(message, '[^:]*$')) or 0) > tonumber(held) then let_go_on(lane) end
end
return {'queued', waiting, ahead}
