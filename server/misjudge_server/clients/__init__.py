"""The coding agents that start the server: where their files are, and how they start it."""
