"""What people see: pure functions from values to a `Reply`, without I/O."""
