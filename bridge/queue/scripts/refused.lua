-- Record the refusals by a process while Redis was down, as far as later messages depend on them. Repeatable.
-- ARGV: lifetime (ms), how many stretches to store at most, how many follow, for each the ts of its first and last refused
--       message; then for each message whose edit or deletion was refused, its identity and new version ('': deleted).
-- Returns 'ok'.
local lifetime, count = ARGV[1], tonumber(ARGV[3])
for i = 4, 2 + 2 * count, 2 do note_refusals(ARGV[i], ARGV[i + 1], lifetime, ARGV[2]) end
for i = 4 + 2 * count, #ARGV, 2 do
  local message, version = ARGV[i], ARGV[i + 1]
  if version == '' then
    withdraw(message, lifetime)
  else
    local mark = seen_message_key(message)
    local found = redis.call('GET', mark)
    if not found or (voids(found) or math.huge) < tonumber(version) then
      redis.call('SET', mark, '~' .. version, 'PX', lifetime)
    end
  end
end
return 'ok'
