"""Blind presentation, prompts and the reading of verdicts."""
