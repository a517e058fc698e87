"""The hashing contract: how content becomes ids, fingerprints and fences.

1. `canonical(value)` is JSON with sorted keys, no spaces, UTF-8 unescaped, no NaN or infinity.
2. `digest(tag, value)` is `tag_` and the first 24 hex digits of SHA-256 over `tag`, a NUL byte and the
   canonical form. Different tags never collide by construction.
3. A prompt hash is the first 16 hex digits of SHA-256 of the *template* as UTF-8.

Key order never changes a hash; list order and `1` against `1.0` do. Changing any of this changes ids of
stored rows, so it is a major version.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

DIGEST_HEX = 24
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: Any) -> str:
    """Canonical JSON text of a JSON-like value. Raises ValueError on NaN and infinity."""
    return _ENCODER.encode(value)


def digest(tag: str, value: Any) -> str:
    """Content id: `tag_` and 24 hex digits (96 bits, enough for 10^12 rows)."""
    # Lone surrogates occur in real logs; they must hash, not crash.
    data = f"{tag}\0{canonical(value)}".encode("utf-8", "surrogatepass")
    return f"{tag}_{hashlib.sha256(data).hexdigest()[:DIGEST_HEX]}"


def template_hash(text: str) -> str:
    """Hash of a prompt template: 16 hex digits of SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fence_token(secret: str, *parts: str | int) -> str:
    """Unguessable and repeatable mark for a transcript fence: HMAC-SHA-256, 16 hex digits."""
    return hmac.new(secret.encode(), canonical(list(parts)).encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:16]
