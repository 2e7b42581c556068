-- Renew the leases of the entries that this consumer still holds, without stealing any back.
-- ARGV: consumer, the entries as JSON. Returns the entries it has lost.
local consumer, lost = ARGV[1], {}
for _, entry in ipairs(cjson.decode(ARGV[2])) do
  if owns(entry, consumer) then
    redis.call('XCLAIM', READY, GROUP, consumer, 0, entry, 'JUSTID')
  else
    lost[#lost + 1] = entry
  end
end
return lost
