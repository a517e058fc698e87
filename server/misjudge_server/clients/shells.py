"""Commands for the shells that people start clients from. Pure."""

from __future__ import annotations


def set_secretly(name: str, *, windows: bool) -> str:
    """The command that asks for a key and sets it, so that it is in no history."""
    if windows:
        return f'$env:{name} = Read-Host "Key" -MaskInput'
    return f"read -rs {name} && export {name}"
