"""What an operator asks for: the app manifest, whether all holds, what was done, what became of a message."""
