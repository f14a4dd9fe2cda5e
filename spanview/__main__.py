"""`python -m spanview` is `spanview`."""

import sys

from spanview.cli import main

sys.exit(main())
