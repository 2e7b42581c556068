"""What happens to a message: whether it is for us, which agent it goes to, and what is sent."""
