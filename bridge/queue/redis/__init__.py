"""The connections to Redis: finding the server, translating its errors, and an embedded server."""
