"""What all tests share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hypothesis import settings

# The same examples on every run: a failure seen once is seen again.
settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("ci")

# Tables are as wide as it says, whoever runs the tests in whatever terminal; the tests state the widths that they mean.
os.environ.pop("COLUMNS", None)

# Behind all others: benchmarks/coverage.py must not stand for the package of that name.
sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
