-- Replace what a thread is bound to, if it's still bound to what the caller saw.
-- ARGV: thread, and as JSON: session that's expected or '', agent or '' (unchanged), session or '' (none), session as in the
--       key of its threads (`bound`), both's project, who has written there (the prelude's `with_said`) or '' (unchanged),
--       and the thread's lifetime (ms).
-- Returns '1' if it was replaced.
local thread, a = ARGV[1], cjson.decode(ARGV[2])
local conversation = thread_key(thread)
if (redis.call('HGET', conversation, 'session') or '') ~= a.expected then return '0' end
redis.call('HSET', conversation, 'v', VERSION)
if a.project ~= '' then
  redis.call('HSET', conversation, 'project', a.project)
else
  redis.call('HDEL', conversation, 'project')
end
if a.agent ~= '' then
  local before = redis.call('HGET', conversation, 'agent')
  if before and before ~= a.agent then redis.call('HSET', conversation, 'named', 1) end -- answers name their agent
  redis.call('HSET', conversation, 'agent', a.agent)
end
if a.session ~= '' then
  redis.call('HSET', conversation, 'session', a.session)
else
  redis.call('HDEL', conversation, 'session')
end
if a.said ~= '' then redis.call('HSET', conversation, 'said', a.said) end
redis.call('PEXPIRE', conversation, a.session_ms)
note_activity(thread, string.match(thread, '[^:]*$'), a.session_ms)
if a.session ~= '' and a.agent ~= '' then
  local bound = bound_key(string.match(thread, '^[^:]*'), a.bound)
  redis.call('HSETNX', bound, thread, a.agent .. ':')
  redis.call('PEXPIRE', bound, a.session_ms)
end
return '1'
