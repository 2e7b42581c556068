"""The durable queue in Redis: the inbox, its journal, and the workers that bring each turn to its end."""
