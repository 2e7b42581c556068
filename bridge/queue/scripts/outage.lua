-- Somebody says that nobody listened from one time to another.
-- ARGV: from, to (ms), how long that is known (ms). Returns 'ok'.
note_outage(tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3])
return 'ok'
