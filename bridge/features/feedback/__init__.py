"""What people think of answers."""
