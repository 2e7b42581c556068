-- A message was deleted; see the prelude.
-- ARGV: message identity, how long one that is unknown is marked as deleted (ms) or ''.
-- Returns 'withdrawn' | 'late' | 'unknown'.
return withdraw(ARGV[1], ARGV[2])
