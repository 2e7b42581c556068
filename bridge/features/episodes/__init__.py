"""What alerts and incidents share: something begins, may change, and is over, and people read that once."""
