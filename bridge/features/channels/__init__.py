"""What is set for a channel: who answers there, to what, and which apps' messages count."""
