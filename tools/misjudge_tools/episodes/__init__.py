"""Agents' episodes and the hard checks of their success."""
