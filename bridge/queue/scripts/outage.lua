-- An operator reports an outage.
-- ARGV: from, to (ms), how long to remember it (ms). Returns 'ok'.
note_outage(tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3])
return 'ok'
