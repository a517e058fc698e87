"""Text that a spreadsheet would calculate, with a quote before it.

Text that begins as a formula does gets the quote at the start of a cell and behind what another locale takes for the
end of one (semicolon, tab, line break). `unguarded` takes it off again, so that what is exported and imported again is
the same. The characters are those of OWASP, "CSV Injection".
"""

from __future__ import annotations

import re

_START = r"(?:\A|(?<=[;\t\r\n]))"
_FORMULA = "(?='*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])"
_UNGUARDED = re.compile(_START + _FORMULA)
_GUARDED = re.compile(_START + "'" + _FORMULA)


def guarded(text: str) -> str:
    """The text with a quote before each place where a spreadsheet would read a formula."""
    return _UNGUARDED.sub("'", text)


def unguarded(text: str) -> str:
    """What `guarded` was given."""
    return _GUARDED.sub("", text)
