"""The Bolt listeners: each parses what came in, asks who may, keeps it, and acknowledges."""
