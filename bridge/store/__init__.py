"""What is kept in Redis: the inbox and its journal, the session map, the few settings made in Slack."""
