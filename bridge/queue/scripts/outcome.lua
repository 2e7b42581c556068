-- queued or sent → posting: the outcome is recorded and will be shown; the agent is never asked again. The
-- session is bound here, if it is still the one that the turn began with.
-- ARGV: entry, consumer, lane, turn, now (ms), outcome, what, thread or '', session or '', expected session or '',
--       thread lifetime (ms), results or '', results lifetime (ms), ts of the message that the agent has answered or '',
--       agent or '', whose direct message it is or ''.
-- Returns 'ok' | 'lost' | 'stopped' (recorded, but somebody has stopped the turn: it is not to be shown).
local entry, consumer, lane, turn, now = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if not owns(entry, consumer, lane, turn) then return 'lost' end
local key = turn_key(turn)
local seen = redis.call('HMGET', key, 'step', 'stopped')
local step, written = seen[1], seen[2] and 'stopped' or 'ok'
if step == 'posting' then return written end -- written already, and the answer was lost on the way
if step ~= 'queued' and step ~= 'sent' then return 'lost' end
redis.call('HSET', key, 'step', 'posting', 't_outcome', now, 'outcome', ARGV[6], 'what', ARGV[7])
if ARGV[12] ~= '' then redis.call('SET', results_key(turn), ARGV[12], 'PX', ARGV[13]) end
local thread, session = ARGV[8], ARGV[9]
if thread ~= '' and session ~= '' then
  local conversation = thread_key(thread)
  redis.call('DEL', told_key(thread), words_key(thread))
  local talk, changes = redis.call('HMGET', conversation, 'session', 'heard'), {'v', VERSION}
  if (talk[1] or '') == ARGV[10] then add(changes, 'session', session) end
  -- How far the agent knows the thread. A message that was sent again is an older one.
  if ARGV[14] ~= '' and tonumber(ARGV[14]) > tonumber(talk[2] or '0') then
    add(changes, 'heard', ARGV[14])
  end
  if #changes > 2 then redis.call('HSET', conversation, unpack(changes)) end
  redis.call('PEXPIRE', conversation, ARGV[11])
  local bound = bound_key(string.match(thread, '^[^:]*'), session)
  redis.call('HSET', bound, thread, (ARGV[15] or '') .. ':' .. (ARGV[16] or ''))
  redis.call('PEXPIRE', bound, ARGV[11])
end
return written
