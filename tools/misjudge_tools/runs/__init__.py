"""Planned work as cells: plan minus stored."""
