"""What several features use. They import this room, and never one another."""
