"""`misjudge doctor`: what is wrong with keys, addresses, models and the clients' settings. Reads, never changes."""
