"""What people set up in channels: what all kinds of it have in common is written here, once."""
