-- Record an outage that an operator reports.
-- ARGV: as JSON its beginning and end (ms), and its lifetime (marked_ms). Returns 'ok'.
local a = cjson.decode(ARGV[1])
note_outage(a.began, a.ended, a.marked_ms)
return 'ok'
