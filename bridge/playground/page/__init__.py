"""The page in the browser: a chat workspace on the emulated Slack, with what goes over each wire beside it."""
