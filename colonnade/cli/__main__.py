"""`python -m colonnade.cli` is `colonnade`."""

from __future__ import annotations

import sys

from colonnade.cli import main

sys.exit(main())
