-- Discard a dead letter: its texts are deleted, its trace stays for a while.
-- ARGV: turn, now (ms), lifetime of the trace (ms). Returns 'dropped' | 'unknown'.
local key = turn_key(ARGV[1])
if redis.call('ZREM', dead_key(), ARGV[1]) == 0 then return 'unknown' end
local log = redis.call('HGET', key, 'log')
if redis.call('EXISTS', key) == 1 then
  redis.call('HDEL', key, 'body', 'note', 'outcome')
  redis.call('HSET', key, 'log', with_line(log, ARGV[2] .. ' - dropped'))
  redis.call('PEXPIRE', key, ARGV[3])
end
return 'dropped'
