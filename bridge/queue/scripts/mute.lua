-- Let nothing of a thread go to the agent any more, or again.
-- ARGV: thread, mute ('1'), thread lifetime (ms). Returns '1', or '0': it is not bound.
local conversation = thread_key(ARGV[1])
if redis.call('EXISTS', conversation) == 0 then return '0' end
if ARGV[2] == '1' then
  redis.call('HSET', conversation, 'muted', 1)
else
  redis.call('HDEL', conversation, 'muted')
end
redis.call('PEXPIRE', conversation, ARGV[3])
return '1'
