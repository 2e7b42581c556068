"""Code that several features share. Features import this package, and never one another."""
