-- Record an outage that an operator reports.
-- ARGV: its beginning and end (ms), its lifetime (ms). Returns 'ok'.
note_outage(tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3])
return 'ok'
