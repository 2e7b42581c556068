"""Channel settings: which agent answers, to what, and which apps' messages count."""
