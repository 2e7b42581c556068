-- Give a thread its agent; the first choice wins. Unparks the lane that waited for it.
-- ARGV: thread, and as JSON its lane, agent, lifetime (ms), and its project if it isn't bound. Returns the thread's agent.
local conversation, a = thread_key(ARGV[1]), cjson.decode(ARGV[2])
bind(conversation, a.project)
redis.call('HSETNX', conversation, 'agent', a.agent)
redis.call('PEXPIRE', conversation, a.session_ms)
if not resume(a.lane) then unpark(a.lane) end
return redis.call('HGET', conversation, 'agent')
