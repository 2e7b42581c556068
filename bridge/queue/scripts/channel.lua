-- Change what is set for a channel, if it still is what was seen; every process is told (`bridge.features.channels`).
-- ARGV: team:channel, its record as it was seen or '', its record from now on or '' (nothing is set).
-- Returns 1 | 0 (it was changed meanwhile).
local channel, seen, record = ARGV[1], ARGV[2], ARGV[3]
local now = redis.call('HGET', channels_key(), channel) or ''
if now == record then return 1 end
if now ~= seen then return 0 end
if record == '' then redis.call('HDEL', channels_key(), channel)
else redis.call('HSET', channels_key(), channel, record) end
redis.call('PUBLISH', stops_key(), 'channels')
return 1
