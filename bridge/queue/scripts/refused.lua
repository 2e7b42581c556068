-- Record the refusals by a process while Redis was down, as far as later messages depend on them, and mark where messages
-- have to be read from Slack's history. Repeatable.
-- ARGV: as JSON now (ms), how many stretches to store at `most`, lifetimes of them (resent_ms) and of the marks, and
--       `stretch`: the ts of the first and the last new message that was refused, if any was,
--       `changed`: for each message whose edit or deletion was refused, its identity and new version ('': deleted),
--       `unread`: for each refused message its identity, ts, the unit to read, and whether it addresses the bot.
-- Returns how many units were marked.
local a = cjson.decode(ARGV[1])
if a.stretch[1] then note_refusals(a.stretch[1], a.stretch[2], a.resent_ms, a.most) end
for _, changed in ipairs(a.changed) do
  local message, version = changed[1], changed[2]
  if version == '' then
    withdraw(message, a.resent_ms, '')
  else
    local mark = seen_message_key(message)
    local found = redis.call('GET', mark)
    if not found or (voids(found) or math.huge) < tonumber(version) then
      redis.call('SET', mark, '~' .. version, 'PX', a.resent_ms)
    end
  end
end
local units, first, marked = {}, math.huge, 0
for _, unread in ipairs(a.unread) do
  local message, ts, unit = unread[1], unread[2], unread[3]
  local thread, mark = thread_of(unit), redis.call('GET', seen_message_key(message))
  local since, is_pending = voids(mark)
  -- It's a turn already, or deleted, or said among people.
  local is_settled = mark and not is_pending or (thread and not unread[4] and redis.call('EXISTS', thread_key(thread)) == 0)
  if not is_settled then
    if thread then wait_for(thread, ts, 60000) end -- Slack's next retry would take as long
    if not units[unit] then marked = marked + 1 end
    units[unit], first = math.max(units[unit] or 0, tonumber(ts)), math.min(first, tonumber(ts))
  end
end
if marked > 0 then mark_unread(units, first, a.now, a.marked_ms) end
return marked
