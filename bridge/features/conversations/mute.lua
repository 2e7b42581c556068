-- Stop sending a thread to its agent, or resume.
-- ARGV: thread, mute ('1'), thread lifetime (ms). Returns '1', or '0' if the thread isn't bound.
local conversation = thread_key(ARGV[1])
if redis.call('EXISTS', conversation) == 0 then return '0' end
if ARGV[2] == '1' then
  redis.call('HSET', conversation, 'muted', 1)
else
  redis.call('HDEL', conversation, 'muted')
end
redis.call('PEXPIRE', conversation, ARGV[3])
return '1'
