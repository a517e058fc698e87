"""Probes: changes of a pair that must not matter, to see whether the judge's verdict moves."""
