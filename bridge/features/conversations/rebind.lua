-- Replace what a thread is bound to, if it's still bound to what the caller saw.
-- ARGV: thread, expected session or '', agent or '' (unchanged), session or '' (none), thread lifetime (ms),
--       who has written there (the prelude's `with_said`) or '' (unchanged), the agent's and the session's project,
--       the session as in the key of its threads.
-- Returns '1' if it was replaced.
local conversation = thread_key(ARGV[1])
if (redis.call('HGET', conversation, 'session') or '') ~= ARGV[2] then return '0' end
redis.call('HSET', conversation, 'v', VERSION)
if ARGV[7] ~= '' then
  redis.call('HSET', conversation, 'project', ARGV[7])
else
  redis.call('HDEL', conversation, 'project')
end
if ARGV[3] ~= '' then
  local before = redis.call('HGET', conversation, 'agent')
  if before and before ~= ARGV[3] then redis.call('HSET', conversation, 'named', 1) end -- answers name their agent
  redis.call('HSET', conversation, 'agent', ARGV[3])
end
if ARGV[4] ~= '' then
  redis.call('HSET', conversation, 'session', ARGV[4])
else
  redis.call('HDEL', conversation, 'session')
end
if ARGV[6] ~= '' then redis.call('HSET', conversation, 'said', ARGV[6]) end
redis.call('PEXPIRE', conversation, ARGV[5])
note_activity(ARGV[1], string.match(ARGV[1], '[^:]*$'), ARGV[5])
if ARGV[4] ~= '' and ARGV[3] ~= '' then
  local bound = bound_key(string.match(ARGV[1], '^[^:]*'), ARGV[8])
  redis.call('HSETNX', bound, ARGV[1], ARGV[3] .. ':')
  redis.call('PEXPIRE', bound, ARGV[5])
end
return '1'
