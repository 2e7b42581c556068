-- Change a channel's settings unless they changed since the caller read them, and notify every process
-- (`bridge.features.channels.settings`).
-- ARGV: team:channel, the record seen or '', the new record or '' (no settings).
-- Returns 1 | 0 (changed by someone else).
local channel, seen, record = ARGV[1], ARGV[2], ARGV[3]
local now = redis.call('HGET', channels_key(), channel) or ''
if now == record then return 1 end
if now ~= seen then return 0 end
if record == '' then redis.call('HDEL', channels_key(), channel)
else redis.call('HSET', channels_key(), channel, record) end
redis.pcall('PUBLISH', stops_key(), 'channels')
return 1
