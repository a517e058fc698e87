"""What `check_setup` takes. Kept apart from the operation, so that listing the tools stays quick."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from misjudge_tools.requests import Request


class CheckSetupRequest(Request):
    """Arguments of the tool `check_setup`."""

    online: Annotated[bool, Field(description="Also ask each model (paid).")] = False
