-- Withdraw a deleted message; see the prelude.
-- ARGV: message identity, how long to mark an unknown one as deleted (ms) or '', its thread or '' (unknown).
-- Returns 'withdrawn' | 'stopped' | 'late' | 'unknown'.
return withdraw(ARGV[1], ARGV[2], ARGV[3])
