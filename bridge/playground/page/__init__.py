"""The page in the browser: the emulated Slack as a chat workspace, with a trace of every request."""
