"""Variables that clients read, as people set them. Pure."""

from __future__ import annotations

from typing import Final

CLAUDE_KEYS: Final = ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY")
CLAUDE_BASE_URL: Final = "ANTHROPIC_BASE_URL"
CLAUDE_HEADERS: Final = "ANTHROPIC_CUSTOM_HEADERS"
CLAUDE_MODEL: Final = "ANTHROPIC_MODEL"
CLAUDE_SMALL_MODEL: Final = "ANTHROPIC_SMALL_FAST_MODEL"
"""The one that set-up writes; Claude Code takes ANTHROPIC_DEFAULT_HAIKU_MODEL, too."""
