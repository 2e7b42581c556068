"""Channel settings: which agent answers, which messages it answers, and which apps' messages count."""
