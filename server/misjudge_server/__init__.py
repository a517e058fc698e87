"""The surface: MCP over stdio, the command line, settings and the composition root."""
