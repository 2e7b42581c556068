"""The connections to Redis: which server, its failures in our words, and one that is embedded."""
