-- Give a thread its agent; the first choice wins. Unparks the lane that waited for it.
-- ARGV: thread, lane, agent, thread lifetime (ms), the thread's project if it isn't bound. Returns the thread's agent.
local conversation = thread_key(ARGV[1])
bind(conversation, ARGV[5])
redis.call('HSETNX', conversation, 'agent', ARGV[3])
redis.call('PEXPIRE', conversation, ARGV[4])
if not resume(ARGV[2]) then unpark(ARGV[2]) end
return redis.call('HGET', conversation, 'agent')
