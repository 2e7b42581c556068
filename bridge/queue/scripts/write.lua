-- Make writes that belong to no other step. ARGV: writes (the prelude's `apply`).
-- Returns Redis's answer to each write.
return apply(ARGV[1])
