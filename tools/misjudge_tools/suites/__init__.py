"""Suites: tasks with a world, tools and hard checks. `support_desk` ships with the package."""
