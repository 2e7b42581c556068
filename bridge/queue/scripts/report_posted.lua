-- A report was posted: note when, keep its words for the first question about it, and bind its thread where
-- something chooses the agent. May be repeated.
-- ARGV: report, slot (ms), thread, bind ('1'), thread lifetime (ms), words, their lifetime (ms), the numbers of now or ''. Returns 'ok'.
local key = report_key(ARGV[1])
if redis.call('EXISTS', key) == 1 then
  if tonumber(redis.call('HGET', key, 'last') or '0') < tonumber(ARGV[2]) then
    redis.call('HSET', key, 'last', ARGV[2], 'numbers', ARGV[8])
  end
  local skipped = redis.call('HGET', key, 'skipped')
  if skipped and tonumber(skipped) <= tonumber(ARGV[2]) then redis.call('HDEL', key, 'skipped') end
end
local conversation, words = thread_key(ARGV[3]), words_key(ARGV[3])
if ARGV[4] == '1' then
  redis.call('HSETNX', conversation, 'v', VERSION)
  redis.call('PEXPIRE', conversation, ARGV[5])
end
if redis.call('HEXISTS', conversation, 'session') == 0 then redis.call('SET', words, ARGV[6], 'PX', ARGV[7]) end
return 'ok'
