"""The bridge's features: a folder for each, and a line for each in `registry`."""
