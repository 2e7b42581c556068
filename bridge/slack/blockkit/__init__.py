"""What people see: pure functions from values to a `Reply`; nothing here does I/O."""
