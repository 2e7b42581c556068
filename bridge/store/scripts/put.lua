-- Mark as seen AND queue, or neither.
-- ARGV: turn, lane, event identity or '', message identity or '', condition, thread or '', waiting limit,
--       now (ms), seen (ms), thread lifetime (ms), body, nothing to decide ('1'), agent or '',
--       end of its time by this server's clock (ms) or '', kind of what came in.
-- condition: 'none'; 'start' binds the thread; 'bound' wants it bound; 'search' wants it not yet searched.
-- Returns {'queued', waiting before it} | {'duplicate', turn} | {'full'} | {'unbound'} | {'late'}.
local turn, lane, event, message, condition, thread = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local limit, now, seen_ms, thread_ms, body, plain = tonumber(ARGV[7]), ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local agent = ARGV[13]
if ARGV[14] ~= '' then
  local clock = redis.call('TIME')
  if clock[1] * 1000 + math.floor(clock[2] / 1000) > tonumber(ARGV[14]) then return {'late'} end
end

local marks = {}
if event ~= '' then marks[#marks + 1] = prefix .. 'seen:e:' .. event end
if message ~= '' then marks[#marks + 1] = prefix .. 'seen:m:' .. message end
for _, mark in ipairs(marks) do
  local earlier = redis.call('GET', mark)
  if earlier then return {'duplicate', earlier} end
end

local conversation = prefix .. 'thread:' .. thread
if condition == 'bound' and redis.call('EXISTS', conversation) == 0 then return {'unbound'} end
if condition == 'search' and redis.call('EXISTS', prefix .. 'looked:' .. thread) == 1 then return {'unbound'} end
local waiting = waiting_in(lane)
if waiting >= limit then return {'full'} end

local starts = false
if condition == 'start' then
  starts = redis.call('HSETNX', conversation, 'v', 1) == 1 and agent == ''
  if agent ~= '' then redis.call('HSETNX', conversation, 'agent', agent) end
end
if condition == 'start' or condition == 'bound' then redis.call('PEXPIRE', conversation, thread_ms) end
for _, mark in ipairs(marks) do redis.call('SET', mark, turn, 'PX', seen_ms) end
redis.call('HSET', turn_of(turn), 'v', 1, 'lane', lane, 'step', 'queued', 'at', now, 'body', body, 'thread', thread,
  'kind', ARGV[15])
if starts then redis.call('HSET', turn_of(turn), 'starts', 1) -- its words may choose the agent
elseif plain == '1' then redis.call('HSET', turn_of(turn), 'plain', 1) end
if condition == 'search' then redis.call('HSET', turn_of(turn), 'searches', 1) end
redis.call('RPUSH', box_of(lane), turn)
if redis.call('LLEN', box_of(lane)) == 1 then activate(lane) end
return {'queued', waiting}
