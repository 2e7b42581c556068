-- Give a thread its agent; the first choice wins. A lane that waited for it goes on.
-- ARGV: thread, lane, agent, thread lifetime (ms). Returns the agent that the thread has now.
local conversation = thread_key(ARGV[1])
redis.call('HSETNX', conversation, 'v', VERSION)
redis.call('HSETNX', conversation, 'agent', ARGV[3])
redis.call('PEXPIRE', conversation, ARGV[4])
if not let_go_on(ARGV[2]) then unpark(ARGV[2]) end
return redis.call('HGET', conversation, 'agent')
