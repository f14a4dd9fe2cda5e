"""What spanview promises of its reliability, row by row: each row is a trial that is run so many times.

`python -m tests.reliability` runs all rows at full size; `test_rows.py` runs the same code at the least sizes.
"""

import sys
from pathlib import Path

# What all tests share is imported as pytest finds it: `from builders import ...`.
_SHARED = str(Path(__file__).parent.parent)
if _SHARED not in sys.path:
    sys.path.insert(0, _SHARED)
