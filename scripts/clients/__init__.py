"""Drives the real Claude Code and Codex, without a network, against a scripted model on this machine."""
