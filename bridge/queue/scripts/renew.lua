-- Renew the leases of the entries that this consumer still holds, without stealing any back.
-- ARGV: consumer, entries … Returns the entries it has lost.
local lost = {}
for i = 2, #ARGV do
  if owns(ARGV[i], ARGV[1]) then
    redis.call('XCLAIM', READY, GROUP, ARGV[1], 0, ARGV[i], 'JUSTID')
  else
    lost[#lost + 1] = ARGV[i]
  end
end
return lost
