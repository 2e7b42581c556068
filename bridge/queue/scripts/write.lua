-- Make writes that belong to no step, in one step of their own. ARGV: writes (the prelude's `apply`).
-- Returns what Redis answered to each.
return apply(ARGV[1])
