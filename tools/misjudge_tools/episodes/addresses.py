"""Where what an episode holds may be sent."""

from __future__ import annotations

from misjudge_tools.gateway.addresses import is_loopback


def is_protected(url: str) -> bool:
    """Whether nobody on the way can read what is sent there: it is https, or http that does not leave this machine."""
    try:
        return url.startswith("https://") or (url.startswith("http://") and is_loopback(url))
    except ValueError:
        return False
