"""Statistics as small pure functions on counts."""
