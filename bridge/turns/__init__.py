"""What happens between the inbox and Slack: one turn after the other in each lane, step by step in the journal."""
