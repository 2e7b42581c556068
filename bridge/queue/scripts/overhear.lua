-- Record that a person has written in a thread, for someone other than the bot (the prelude's `with_said`).
-- ARGV: thread, ts, person. Returns 'ok'.
local conversation = thread_key(ARGV[1])
local seen = redis.call('HMGET', conversation, 'v', 'said')
if seen[1] then redis.call('HSET', conversation, 'said', with_said(seen[2], ARGV[2], ARGV[3], '0')) end
return 'ok'
